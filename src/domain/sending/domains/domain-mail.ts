/** The mails to a customer's users about a change of one of its domains. */
import type { Context } from '../../context.ts';
import { peopleOfDomain } from './sending-domain-read-model.ts';
import { GRACE_HOURS } from './sending-domain.ts';
import type { DomainNotification } from './record-check.ts';

export interface DomainMail {
  readonly to: string;
  readonly subject: string;
  readonly paragraphs: readonly string[];
}

/** More users rarely manage one customer's domains. */
const PEOPLE_MAX = 10;

/** The mails, one per user; none when the domain is deleted, or the notification is out of date. */
export async function domainMail(
  { db, installation }: Context,
  { customerId, domainId, notification }: { customerId: bigint; domainId: bigint; notification: DomainNotification },
): Promise<DomainMail[]> {
  const people = await peopleOfDomain(db, { customerId, id: domainId }, PEOPLE_MAX);
  return people
    .filter(({ status }) => status === STATUS_OF[notification])
    .map(({ email, name }) => ({
      to: email,
      subject: SUBJECTS[notification](name),
      paragraphs: [...TEXTS[notification](name), `Its records, and what was seen of them: ${installation.baseUrl}`],
    }));
}

const STATUS_OF: Readonly<Record<DomainNotification, string>> = {
  failing: 'failing',
  lost: 'lost',
  taken: 'lost',
  back: 'verified',
};

const SUBJECTS: Readonly<Record<DomainNotification, (name: string) => string>> = {
  failing: (name) => `${name}: a DNS record is missing`,
  lost: (name) => `${name} does not sign your mail any more`,
  taken: (name) => `${name} was verified by somebody else`,
  back: (name) => `${name} is verified again`,
};

const TEXTS: Readonly<Record<DomainNotification, (name: string) => readonly string[]>> = {
  failing: (name) => [
    `The DNS of ${name} does not show the records any more that prove that the domain is yours and that verify your signatures.`,
    `Your mail is still signed for ${GRACE_HOURS} hours. Publish the records again before that; nothing else is needed.`,
  ],
  lost: (name) => [
    `The records of ${name} have been missing for ${GRACE_HOURS} hours. Its mail is sent without its signature, so large providers may refuse it.`,
    'Publish the records again and verify the domain.',
  ],
  taken: (name) => [
    `Another customer has proved that ${name} is theirs, and the proof of yours is not in its DNS any more. It does not sign your mail from now on.`,
  ],
  back: (name) => [`The records of ${name} are back. Nothing has to be done.`],
};
