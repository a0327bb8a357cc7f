/** Suppression lists: an extension of the specification. */
import { z } from 'zod';
import { created, done, page } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { actionShape, answersBody, answersCreated, answersPage, countShape, timeShape, uidShape } from '../shapes.ts';
import { restTime } from '../timestamps.ts';

const suppressionShape = z
  .strictObject({
    email: z.string(),
    reason: z.string(),
    note: z.string().nullable(),
    added_by: uidShape.nullable(),
    created_at: timeShape,
  })
  .meta({ id: 'Suppression' });

export const suppressionRows = [
  endpoint({
    method: 'GET',
    path: '/suppressions',
    access: 'token',
    summary: 'Lists the addresses that get no mail.',
    answers: answersPage(suppressionShape),
    operation: 'Suppressions',
    variables: (input) => ({
      email: input.text('email'),
      everywhere: input.flag('everywhere'),
      ...pageArguments(input),
    }),
    present: ({ suppressionsPage }) =>
      page(suppressionsPage, ({ email, reason, note, addedByUid, createdAt }) => ({
        ...{ email, reason, note, added_by: addedByUid, created_at: restTime(createdAt) },
      })),
  }),
  endpoint({
    method: 'POST',
    path: '/suppressions',
    access: 'token',
    summary: 'Suppresses addresses: they get no mail any more.',
    answers: answersCreated(actionShape({ added: countShape })),
    required: ['email'],
    operation: 'SuppressAddresses',
    variables: (input) => ({
      input: {
        emails: emails(input),
        reason: input.text('reason'),
        note: input.text('note'),
        everywhere: input.flag('everywhere'),
      },
    }),
    fieldName: (path) => (path.startsWith('emails') ? 'email' : undefined),
    present: ({ suppressAddresses: { added } }) => created('The addresses are suppressed', { added }),
  }),
  endpoint({
    method: 'DELETE',
    path: '/suppressions/:email',
    access: 'token',
    summary: 'Removes an address from the suppression list.',
    answers: answersBody(actionShape({})),
    operation: 'UnsuppressAddress',
    variables: (input) => ({ email: input.param('email'), everywhere: input.flag('everywhere') }),
    present: () => done('Deleted'),
  }),
];

/** One, several separated by commas or line breaks, or a list of them. */
function emails(input: Input): string[] {
  const given = input.raw('email');
  if (!Array.isArray(given)) return split(input.text('email') ?? '');
  const texts = given.filter((email) => typeof email === 'string');
  if (texts.length < given.length) input.refuse('email', 'The email must be a text, or a list of texts.');
  return texts.flatMap(split);
}

function split(text: string): string[] {
  return text.split(/[\s,;]+/).filter((part) => part !== '');
}
