/**
 * What Brevo reports: one event a request, or a list of them. It signs nothing, so that its address is secret. It repeats a request only when
 * there was no answer or 429; any other failure ends it.
 */
import { z } from 'zod';
import {
  knowsWebhookAddress,
  webhookAddress,
  type WebhookEvent,
  type WebhookReceiver,
  type WebhookRequest,
} from '../../../src/plugin-api/index.ts';
import { OWN_ID_HEADER, ownIdOf } from './own-id.ts';

const word = z.union([z.string(), z.number()]).transform(String);
const reportShape = z.object({
  event: z.string().min(1),
  email: z.string().default(''),
  'message-id': z.string().nullish(),
  /** The only time that is the same in all time zones. */
  ts_epoch: word.nullish(),
  reason: z.string().nullish(),
  [OWN_ID_HEADER]: z.string().nullish(),
});
type Report = z.output<typeof reportShape>;

export const webhook: WebhookReceiver = {
  isUnsigned: true,
  busyStatus: 429,
  address: webhookAddress,
  verify: knowsWebhookAddress,
  parse: (request) => reportsOf(request).map((report) => eventOf(report)),
};

/** Of a list each for itself: one that cannot be read does not take the others along. */
function reportsOf({ body }: WebhookRequest): (Report | undefined)[] {
  const posted: unknown = JSON.parse(Buffer.from(body).toString('utf8'));
  return Array.isArray(posted)
    ? posted.map((one: unknown) => reportShape.safeParse(one).data)
    : [reportShape.parse(posted)];
}

function eventOf(report: Report | undefined): WebhookEvent {
  if (!report) return { kind: 'ignored', name: 'unreadable' };
  const { event, email, ts_epoch: at, reason } = report;
  const messageId = report['message-id']?.replace(/^<|>$/g, '');
  const ignored = { kind: 'ignored' as const, name: event };
  if (!messageId) return ignored;
  // Its events have no id.
  const named = { id: `${messageId} ${email} ${event} ${at ?? ''}`, messageId, ownId: ownIdOf(report[OWN_ID_HEADER]) };
  const bounced = (bounceType: 'hard' | 'soft' | 'blocked'): WebhookEvent => ({
    ...{ kind: 'bounced', ...named, bounceType },
    ...{ statusCode: statusOf(reason), description: reason ?? undefined },
  });
  switch (event) {
    case 'delivered':
      return { kind: 'delivered', ...named };
    case 'hard_bounce':
      // A policy of the receiver says nothing about the mailbox.
      return bounced(statusOf(reason)?.startsWith('5.7.') ? 'blocked' : 'hard');
    case 'invalid_email':
      return bounced('hard');
    case 'soft_bounce':
      return bounced('soft');
    // It did not try: the address is on a list of Brevo's, or the sender may not send.
    case 'blocked':
    case 'error':
      return bounced('blocked');
    case 'spam':
    case 'complaint':
      return { kind: 'complained', ...named };
    // Its documents have both words.
    case 'unsubscribe':
    case 'unsubscribed':
      return { kind: 'unsubscribed', ...named };
    default:
      return ignored;
  }
}

function statusOf(reason: string | null | undefined): string | undefined {
  return /\b[45]\.\d{1,3}\.\d{1,3}\b/.exec(reason ?? '')?.[0];
}
