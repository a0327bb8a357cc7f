/** The senders of a sending server's account at its vendor: read, added and checked there; nothing of them is stored here. */
import { z } from 'zod';
import { RateLimitedError, ValidationError, WrongStateError, messageOf } from '../../lib/errors.ts';
import { emailAddress, parseInput, singleLine } from '../../lib/text.ts';
import type { VendorIdentities, VendorIdentity } from '../../plugin-api/index.ts';
import type { Context } from '../context.ts';
import { domainName } from './domains/sending-domain.ts';
import { findOwnedSendingServer } from './find-owned-sending-server.ts';
import { countRequestedMails } from './requested-mails.ts';
import { identityMailInput, identityMailOf, type IdentityMailInput } from './identity-mail.ts';
import { openIdentities } from './try-settings.ts';

/** Each is a request to the vendor, who counts them against the account. */
const REQUESTS_PER_HOUR_MAX = 60;
const HOUR_SECONDS = 3_600;
/** What a vendor may answer is bounded by its page; more are cut. */
const IDENTITIES_SHOWN_MAX = 1_000;
const RECORDS_SHOWN_MAX = 20;
const UID_LENGTH_MAX = 64;
const NAME_LENGTH_MAX = 320;

const shownText = z.string().transform((text) => text.slice(0, 2_000));
/** What a plugin answers is checked like all input. */
const identityShape = z.object({
  kind: z.enum(['domain', 'email']),
  name: shownText,
  isVerified: z.boolean(),
  status: shownText,
  records: z
    .array(
      z.object({
        type: z.enum(['CNAME', 'TXT', 'MX']),
        name: shownText,
        value: shownText,
        isFound: z.boolean().nullable(),
      }),
    )
    .transform((records) => records.slice(0, RECORDS_SHOWN_MAX)),
});

export const serverIdentityInput = z.object({
  uid: singleLine(UID_LENGTH_MAX),
  kind: z.enum(['domain', 'email']),
  name: singleLine(NAME_LENGTH_MAX),
});
export type ServerIdentityInput = z.input<typeof serverIdentityInput>;
export const addServerIdentityInput = serverIdentityInput.extend(identityMailInput);

/** Throws NotFoundError, ForeignResourceError, WrongStateError `SENDERS_NOT_SHOWN`, RateLimitedError, ValidationError on `connection`. */
export async function listServerIdentities(ctx: Context, { uid }: { uid: string }): Promise<readonly VendorIdentity[]> {
  const identities = await identitiesOf(ctx, uid);
  const found = await said(() => identities.list());
  return z.array(identityShape).parse(found.slice(0, IDENTITIES_SHOWN_MAX));
}

/**
 * Adds a domain, or has the vendor write to an address, with a text of the caller's if there is one. Throws as `listServerIdentities`, and
 * ValidationError on `kind`, `name` or a part of the mail.
 */
export async function addServerIdentity(
  ctx: Context,
  input: ServerIdentityInput & IdentityMailInput,
): Promise<VendorIdentity> {
  // All faults of the input at once.
  parseInput(addServerIdentityInput, input);
  const { uid, ...identity } = checkedIdentity(input);
  const { defaultFromEmail } = await findOwnedSendingServer(ctx, uid);
  const mail = identityMailOf(input, defaultFromEmail);
  if (mail && identity.kind !== 'email')
    throw new ValidationError({ mailSubject: ['Only an address gets a mail: leave out its text for a domain.'] });
  const identities = await identitiesOf(ctx, uid);
  if (!identities.adds.includes(identity.kind)) {
    const kinds = identities.adds.join(' or ') || 'nothing';
    throw new ValidationError({
      kind: [`This vendor lets us add ${kinds}. Add the sender on the vendor's own pages.`],
    });
  }
  if (!mail) return identityShape.parse(await said(() => identities.add(identity)));
  if (!identities.addWithMail)
    throw new ValidationError({
      mailSubject: ['This vendor writes the mail itself: leave out subject, text and pages.'],
    });
  return identityShape.parse(await said(async () => identities.addWithMail?.(identity.name, mail)));
}

/** Asks the vendor to look at the DNS again. Throws as `listServerIdentities`, and ValidationError on `name`. */
export async function checkServerIdentity(ctx: Context, input: ServerIdentityInput): Promise<VendorIdentity> {
  const { uid, ...identity } = checkedIdentity(input);
  const identities = await identitiesOf(ctx, uid);
  return identityShape.parse(await said(() => identities.check(identity)));
}

function checkedIdentity(input: ServerIdentityInput): z.output<typeof serverIdentityInput> {
  const wanted = parseInput(serverIdentityInput, input);
  if (wanted.kind === 'email') return { ...wanted, ...parseInput(z.object({ name: emailAddress() }), wanted) };
  const name = domainName(wanted.name);
  if (name === undefined) throw new ValidationError({ name: ['The name must be a domain name such as example.com.'] });
  return { ...wanted, name };
}

async function identitiesOf(ctx: Context, uid: string): Promise<VendorIdentities> {
  const server = await findOwnedSendingServer(ctx, uid);
  const key = `server-identities:${server.customerId}`;
  const wait = await countRequestedMails(ctx.db, [{ key, max: REQUESTS_PER_HOUR_MAX, seconds: HOUR_SECONDS }]);
  if (wait !== undefined)
    throw new RateLimitedError(
      'TOO_MANY_REQUESTS_TO_VENDOR',
      `A customer may ask vendors about senders ${REQUESTS_PER_HOUR_MAX} times in an hour.`,
      wait,
    );
  const identities = await openIdentities(ctx, server);
  if (identities) return identities;
  throw new WrongStateError(
    'SENDERS_NOT_SHOWN',
    `Servers of type ${server.type} do not show the senders of their account. See the pages of the vendor.`,
  );
}

/** The driver's error is a sentence for the person who asked. */
async function said<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw new ValidationError(
      { connection: [messageOf(error)] },
      'VENDOR_REFUSED',
      'The vendor did not do what was asked.',
    );
  }
}
