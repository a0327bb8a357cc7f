/**
 * What Mailgun reports: one event a request. Its signature covers a time and a token, not the event; so a request that somebody has
 * caught could be changed, and an old one is not believed.
 */
import { createHmac } from 'node:crypto';
import { z } from 'zod';
import {
  optionalLine,
  sameText,
  type WebhookEvent,
  type WebhookReceiver,
  type WebhookRequest,
} from '../../../src/plugin-api/index.ts';

export const SIGNING_KEY = 'webhook_signing_key';
export const signingKeyField = optionalLine('signing key of webhooks');

/** It repeats for about eight hours; clocks differ a little. */
const AGE_SECONDS_MAX = 43_200;
const AHEAD_SECONDS_MAX = 300;

/** Alone: a genuine request whose event cannot be read is kept, and is no forgery. */
const signedShape = z.object({
  signature: z.object({ timestamp: z.coerce.string(), token: z.string().min(1), signature: z.string() }),
});

const reportShape = signedShape.extend({
  'event-data': z.looseObject({
    event: z.string(),
    severity: z.string().optional(),
    reason: z.string().optional(),
    message: z.object({ headers: z.object({ 'message-id': z.string().min(1) }) }).optional(),
    'user-variables': z.looseObject({ mailwright_id: z.string().optional() }).optional(),
    'delivery-status': z
      .looseObject({
        code: z.coerce.number().optional(),
        message: z.string().nullish(),
        description: z.string().nullish(),
        'enhanced-code': z.string().nullish(),
      })
      .optional(),
  }),
});

type Report = z.output<typeof reportShape>;

function jsonOf({ body }: WebhookRequest): unknown {
  return JSON.parse(Buffer.from(body).toString('utf8'));
}

export const webhook: WebhookReceiver = {
  verify(request, { [SIGNING_KEY]: key }) {
    if (typeof key !== 'string' || key === '') return false;
    let signed: z.output<typeof signedShape>;
    try {
      signed = signedShape.parse(jsonOf(request));
    } catch {
      return false;
    }
    const { timestamp, token, signature } = signed.signature;
    const age = request.receivedAt.getTime() / 1_000 - Number(timestamp);
    if (!(age < AGE_SECONDS_MAX && age > -AHEAD_SECONDS_MAX)) return false;
    return sameText(
      createHmac('sha256', key)
        .update(timestamp + token)
        .digest('hex'),
      signature,
    );
  },
  parse: (request) => [eventOf(reportShape.parse(jsonOf(request)))],
};

function eventOf({ signature, 'event-data': data }: Report): WebhookEvent {
  const messageId = data.message?.headers['message-id'];
  const ignored = { kind: 'ignored' as const, name: data.event };
  if (messageId === undefined) return ignored;
  // The token is signed and the event is not: whoever has caught a signature can use it for one event only.
  const named = { id: signature.token, messageId, ownId: data['user-variables']?.mailwright_id };
  switch (data.event) {
    case 'delivered':
      return { kind: 'delivered', ...named };
    case 'complained':
      return { kind: 'complained', ...named };
    case 'unsubscribed':
      return { kind: 'unsubscribed', ...named };
    case 'rejected':
      return { kind: 'bounced', ...named, bounceType: 'blocked', description: data.reason };
    case 'failed':
      // A temporary failure is tried again by Mailgun.
      return data.severity === 'permanent' ? { kind: 'bounced', ...named, ...bounceOf(data) } : ignored;
    default:
      return ignored;
  }
}

function bounceOf({ reason = '', 'delivery-status': status = {} }: Report['event-data']) {
  const text = [status.code, status.message || status.description].filter(Boolean).join(' ');
  const details = { description: text || reason, statusCode: status['enhanced-code'] ?? undefined };
  // It did not even try: the address is on one of Mailgun's own lists.
  if (reason === 'suppress-bounce') return { bounceType: 'hard' as const, ...details };
  if (reason.startsWith('suppress-')) return { bounceType: 'blocked' as const, ...details };
  return { bounceType: 'unclear' as const, ...details };
}
