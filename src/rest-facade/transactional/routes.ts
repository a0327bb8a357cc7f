/** Transactional mails (decision D94). */
import { z } from 'zod';
import { accepted, done, ok, page } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { answersAccepted, answersBody, answersPage } from '../shapes.ts';
import { mailInput } from './mail-input.ts';
import { acceptedShape, changedShape, presentMail, transactionalShape } from './present.ts';

export const transactionalRows = [
  endpoint({
    method: 'GET',
    path: '/transactional',
    access: 'token',
    summary: 'Lists transactional mails, with what became of them.',
    details:
      '`email`, `template_uid`, `tag` and `external_id`: only those. `created_at[from]` and `created_at[to]` are times.',
    answers: answersPage(transactionalShape),
    operation: 'TransactionalMails',
    fieldName: (path) => FILTER_NAMES[path],
    variables: filters,
    present: ({ transactionalPage }) => page(transactionalPage, presentMail),
  }),
  endpoint({
    method: 'POST',
    path: '/transactional',
    access: 'token',
    summary: 'Sends a mail to up to 50 addresses, which need not be on a list: a message to each.',
    details:
      'Needs the scope `transactional:send`. `to`: an address, several with commas, or a list of addresses or of `{email, data}`. Give `template_uid`, or `subject` and `html` or `plain`. `data`: the values of `data.*`, at most 64 KB. ' +
      '`headers`: an object. `attachments`: a list of `{name, content}` with base64; `file_uids`: uploaded files. `external_id`: an address gets one mail with it from a template. `send_at`: at most 30 days ahead. ' +
      '`list_uid` is needed for templates of the kinds `optional` and `marketing`. Send an `Idempotency-Key`, so that a call that is repeated sends nothing twice. ' +
      'The answer says for each recipient whether the mail is `accepted`, `scheduled`, `suppressed` (with the reason) or a `duplicate`.',
    takesHtml: true,
    required: ['to'],
    answers: answersAccepted(acceptedShape),
    operation: 'SendTransactional',
    variables: (input) => ({ input: mailInput(input) }),
    present: ({ sendTransactional: { mails } }) =>
      accepted('The mails were accepted', {
        mails: mails.map(({ email, uid, state, reason }) => ({ email, uid, state, reason })),
      }),
  }),
  endpoint({
    method: 'GET',
    path: '/transactional/:uid',
    access: 'token',
    summary: 'Shows a transactional mail: its state, tries, opens, clicks and bounce.',
    answers: answersBody(z.strictObject({ transactional: transactionalShape })),
    operation: 'TransactionalMail',
    variables: uidOf,
    present: ({ transactional }) => ok({ transactional: presentMail(transactional) }),
  }),
  endpoint({
    method: 'DELETE',
    path: '/transactional/:uid',
    access: 'token',
    summary: 'Cancels a transactional mail that waits for its time.',
    answers: answersBody(changedShape),
    operation: 'CancelTransactional',
    variables: uidOf,
    present: ({ cancelTransactional: { uid } }) => done('The mail was cancelled', { transactional_uid: uid }),
  }),
  endpoint({
    method: 'POST',
    path: '/transactional/:uid/resend',
    access: 'token',
    summary: 'Sends a transactional mail again, as a new one, while its content is kept (7 days).',
    answers: answersAccepted(changedShape),
    operation: 'ResendTransactional',
    variables: uidOf,
    present: ({ resendTransactional: { uid } }) => accepted('The mail is sent again', { transactional_uid: uid }),
  }),
];

function uidOf(input: Input) {
  return { uid: input.param('uid') };
}

function filters(input: Input) {
  const between = input.object('created_at');
  return {
    state: input.text('state'),
    email: input.text('email'),
    templateUid: input.text('template_uid'),
    tag: input.text('tag'),
    externalId: input.text('external_id'),
    createdFrom: between?.time('from'),
    createdTo: between?.time('to'),
    ...pageArguments(input),
  };
}

const FILTER_NAMES: Readonly<Record<string, string>> = {
  createdFrom: 'created_at[from]',
  createdTo: 'created_at[to]',
};
