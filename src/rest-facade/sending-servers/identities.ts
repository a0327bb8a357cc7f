/** The senders of a server's account at its vendor. */
import type { RestServerIdentityFragment } from '../../generated/operations.ts';
import { done, ok } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { answersBody } from '../shapes.ts';
import { identitiesShape, identityActionShape } from './identity-shapes.ts';

export const serverIdentityRows = [
  endpoint({
    method: 'GET',
    path: '/sending_servers/:uid/identities',
    access: 'token',
    summary: 'Asks the vendor of a server for the senders of the account: domains and addresses.',
    details:
      'At most 60 requests of this kind in an hour. Types that show no senders answer 422 (`SENDERS_NOT_SHOWN`).',
    answers: answersBody(identitiesShape),
    operation: 'SendingServerIdentities',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ sendingServerIdentities: { nodes } }) => ok({ identities: nodes.map(presentIdentity) }),
  }),
  endpoint({
    method: 'POST',
    path: '/sending_servers/:uid/identities',
    actsOutside: true,
    access: 'token',
    summary: 'Adds a sender to the account at the vendor; `name` is a domain or an address.',
    details:
      'For a domain the answer has the records to publish; an address gets a mail from the vendor, with a text of yours where the vendor allows it: `mail_subject`, `mail_html` and the pages that its reader comes to.',
    answers: answersBody(identityActionShape),
    required: ['name'],
    operation: 'AddSendingServerIdentity',
    variables: (input) => ({
      input: {
        ...sender(input),
        mailSubject: input.text('mail_subject'),
        mailHtml: input.text('mail_html'),
        mailFromEmail: input.text('mail_from_email'),
        mailSuccessUrl: input.text('mail_success_url'),
        mailFailureUrl: input.text('mail_failure_url'),
      },
    }),
    fieldName,
    present: ({ addSendingServerIdentity: identity }) =>
      done('Sender was successfully added', { identity: presentIdentity(identity) }),
  }),
  endpoint({
    method: 'POST',
    path: '/sending_servers/:uid/identities/check',
    actsOutside: true,
    access: 'token',
    summary: 'Asks the vendor to look for the records of a sender again.',
    answers: answersBody(identityActionShape),
    required: ['name'],
    operation: 'CheckSendingServerIdentity',
    variables: (input) => ({ input: sender(input) }),
    fieldName,
    present: ({ checkSendingServerIdentity: identity }) =>
      done('Sender was checked', { identity: presentIdentity(identity) }),
  }),
];

function sender(input: Input) {
  const name = input.text('name') ?? '';
  return { uid: input.param('uid'), kind: name.includes('@') ? ('EMAIL' as const) : ('DOMAIN' as const), name };
}

function presentIdentity({ kind, name, isVerified, status, records }: RestServerIdentityFragment) {
  return {
    ...{ kind: kind.toLowerCase(), name, verified: isVerified, status },
    records: records.map(({ type, name: host, value, isFound }) => ({
      ...{ type, name: host, value },
      found: isFound ?? null,
    })),
  };
}

/** The kind follows from the name. */
function fieldName(path: string): string | undefined {
  if (path === 'kind') return 'name';
  return path === 'connection' ? path : undefined;
}
