/** Delivery notifications (specification 4.12; decisions D10, D41). */
import { done } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { actionShape, answersBody } from '../shapes.ts';

const TYPES = ['sent', 'bounced', 'failed', 'abuse', 'reported'] as const;
type Type = (typeof TYPES)[number];
/** As some systems call it (D52). */
const SPAM = 'spam';
const BOUNCE_TYPES = ['hard', 'soft'] as const;

const notification = (path: `/${string}`, summary: string, usual?: Type) =>
  endpoint({
    method: ['GET', 'POST'],
    path,
    access: 'token',
    summary,
    answers: answersBody(actionShape({})),
    required: usual === undefined ? ['message_id', 'type'] : ['message_id'],
    operation: 'ReportDelivery',
    variables: (input) => ({
      input: {
        messageId: required(input, 'message_id'),
        type: typeOf(input) ?? usual ?? missingType(input),
        bounceType: oneOf(input, ['bounced_type', 'bounce_type'], BOUNCE_TYPES),
        reportType: input.text('report_type'),
        description: input.text('description'),
      },
    }),
    present: () => done('The notification was received.'),
  });

export const notificationRows = [
  notification('/notifications', 'Reports what happened to a message: sent, bounced, or called unwanted.'),
  notification('/notification/bounce', 'Tells that a message bounced.', 'bounced'),
  notification('/notification/feedback', 'Tells that a reader complained about a message.', 'abuse'),
];

function required(input: Input, name: string): string {
  const text = input.text(name) ?? '';
  if (text.trim() === '') input.refuse(name, `The ${name} field is required.`);
  return text;
}

function typeOf(input: Input): Type | undefined {
  const type = oneOf(input, ['type'], [...TYPES, SPAM]);
  return type === SPAM ? 'abuse' : type;
}

function missingType(input: Input): Type {
  if (!input.text('type')) input.refuse('type', 'The type field is required.');
  return 'sent';
}

/** The word in any case; empty means absent. */
function oneOf<Word extends string>(input: Input, names: readonly string[], words: readonly Word[]): Word | undefined {
  const text =
    input
      .text(...names)
      ?.trim()
      .toLowerCase() ?? '';
  const known = words.find((word) => word === text);
  if (text !== '' && known === undefined)
    input.refuse(names[0] ?? '', `The ${names[0]} must be one of: ${words.join(', ')}.`);
  return known;
}
