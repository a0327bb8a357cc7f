/** The log of messages that are not of a campaign: an extension of the specification. */
import { z } from 'zod';
import type { LoggedMessageFragment } from '../../generated/operations.ts';
import { ok, page } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import { endpoint } from '../endpoint.ts';
import { answersBody, answersPage, countShape, timeShape, uidShape } from '../shapes.ts';
import { restTime } from '../timestamps.ts';

const messageShape = z
  .strictObject({
    uid: uidShape,
    purpose: z.string(),
    kind: z.string(),
    email: z.string(),
    subscriber_uid: uidShape.nullable(),
    list_uid: uidShape.nullable(),
    campaign_uid: uidShape.nullable(),
    automation_uid: uidShape.nullable(),
    state: z.string(),
    reason: z.string().nullable(),
    reply: z.string().nullable(),
    attempts: countShape,
    ambiguous_count: countShape,
    created_at: timeShape,
    send_at: timeShape.nullable(),
    not_before: timeShape.nullable(),
    updated_at: timeShape,
  })
  .meta({ id: 'Message' });

export const messageLogRows = [
  endpoint({
    method: 'GET',
    path: '/messages',
    access: 'token',
    summary: 'Lists messages that are not of a campaign, with what became of them.',
    answers: answersPage(messageShape),
    operation: 'Messages',
    variables: (input) => ({
      purpose: input.text('purpose'),
      state: input.text('state'),
      email: input.text('email'),
      ...pageArguments(input),
    }),
    present: ({ messagesPage }) => page(messagesPage, presentMessage),
  }),
  endpoint({
    method: 'GET',
    path: '/messages/:uid',
    access: 'token',
    summary: 'Shows one of these messages.',
    answers: answersBody(z.strictObject({ message: messageShape })),
    operation: 'Message',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ message }) => ok({ message: presentMessage(message) }),
  }),
  endpoint({
    method: 'POST',
    path: '/messages/:uid/decide',
    access: 'token',
    summary: 'Decides about a mail of an automation whose outcome is unknown.',
    details:
      '`decision`: `accept` counts it as sent; `resend` sends it again, maybe for the second time. The text of a mail is kept for 7 days: after that it cannot be sent again.',
    answers: answersBody(z.strictObject({ message: messageShape })),
    required: ['decision'],
    operation: 'DecideUnknownMessage',
    variables: (input) => ({ uid: input.param('uid'), decision: input.text('decision') ?? '' }),
    present: ({ decideUnknownMessage: message }) => ok({ message: presentMessage(message) }),
  }),
];

function presentMessage(message: LoggedMessageFragment) {
  const { uid, purpose, kind, email, state, reason, reply, attempts } = message;
  return {
    ...{ uid, purpose, kind, email },
    subscriber_uid: message.subscriberUid,
    list_uid: message.listUid,
    campaign_uid: message.campaignUid,
    automation_uid: message.automationUid,
    ...{ state, reason, reply, attempts },
    ambiguous_count: message.ambiguousCount,
    created_at: restTime(message.createdAt),
    send_at: restTime(message.sendAt),
    not_before: restTime(message.notBefore),
    updated_at: restTime(message.updatedAt),
  };
}
