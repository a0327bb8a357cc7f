/** The mails that a list sends automatically: an extension of the specification. */
import type { RestListMailFragment } from '../../generated/operations.ts';
import { done, ok } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { answersBody } from '../shapes.ts';
import { restTime } from '../timestamps.ts';
import { listMailActionShape, listMailPreviewShape, listMailsShape } from './shapes.ts';

export const listMailRows = [
  endpoint({
    method: 'GET',
    path: '/lists/:uid/templates',
    access: 'token',
    summary: 'Shows the mails that a list sends automatically.',
    answers: answersBody(listMailsShape),
    operation: 'ListMails',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ list }) => ok({ templates: list.mails.map(presentMail) }),
  }),
  endpoint({
    method: 'PATCH',
    path: '/lists/:uid/templates/:kind',
    access: 'token',
    summary: 'Changes the text of a mail of a list.',
    answers: answersBody(listMailActionShape),
    operation: 'ChangeListMail',
    variables: (input) => ({ input: texts(input) }),
    present: ({ changeListMail }) =>
      done('The template was successfully updated', { template: presentMail(changeListMail) }),
  }),
  endpoint({
    method: 'DELETE',
    path: '/lists/:uid/templates/:kind',
    access: 'token',
    summary: 'Brings the built-in text of a mail of a list back.',
    answers: answersBody(listMailActionShape),
    operation: 'ResetListMail',
    variables: (input) => ({ listUid: input.param('uid'), kind: input.param('kind') }),
    present: ({ resetListMail }) => done('The template was reset', { template: presentMail(resetListMail) }),
  }),
  endpoint({
    method: 'POST',
    path: '/lists/:uid/templates/:kind/preview',
    access: 'token',
    summary: 'Shows how a mail of a list would look with the given text.',
    answers: answersBody(listMailPreviewShape),
    operation: 'PreviewListMail',
    variables: texts,
    present: ({ previewListMail: { subject, html, plain, warnings } }) =>
      ok({ preview: { subject, html, plain, warnings } }),
  }),
];

function texts(input: Input) {
  return {
    listUid: input.param('uid'),
    kind: input.param('kind'),
    subject: input.text('subject'),
    html: input.text('html'),
    plain: input.text('plain'),
  };
}

function presentMail({ kind, subject, html, plain, changedAt }: RestListMailFragment) {
  return { kind, subject, html, plain, changed_at: restTime(changedAt) };
}
