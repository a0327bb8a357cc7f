/**
 * What SendGrid reports: a list of events a request, signed with its private key over the time and the unchanged bytes. The signature is
 * a setting at SendGrid that has to be switched on; what is not signed is not believed.
 */
import { createPublicKey, verify as verifySignature, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import {
  optionalLine,
  type WebhookEvent,
  type WebhookReceiver,
  type WebhookRequest,
} from '../../../src/plugin-api/index.ts';

export const PUBLIC_KEY = 'webhook_public_key';
/** Our id in a message's `custom_args` or `unique_args`; it comes back beside the fields of an event. */
export const OWN_ID = 'mailwright_id';

const KEY_RULE =
  'The public key of webhooks must be the "Verification Key" that SendGrid shows: base64 of an elliptic curve key.';
export const publicKeyField = optionalLine('public key of webhooks').pipe(
  z
    .string()
    .refine((value) => publicKeyOf(value) !== undefined, { error: KEY_RULE })
    .optional(),
);

const SIGNATURE = 'x-twilio-email-event-webhook-signature';
const TIMESTAMP = 'x-twilio-email-event-webhook-timestamp';
/** It repeats for 24 hours, and does not say whether it signs anew; clocks differ a little. An event counts once in any case. */
const AGE_SECONDS_MAX = 90_000;
const AHEAD_SECONDS_MAX = 300;

export const webhook: WebhookReceiver = {
  verify({ headers, body, receivedAt }, { [PUBLIC_KEY]: given }) {
    const key = typeof given === 'string' ? publicKeyOf(given) : undefined;
    const timestamp = headers[TIMESTAMP] ?? '';
    const signature = Buffer.from(headers[SIGNATURE] ?? '', 'base64');
    const age = receivedAt.getTime() / 1_000 - Number(timestamp || Number.NaN);
    if (!key || !(age < AGE_SECONDS_MAX && age > -AHEAD_SECONDS_MAX)) return false;
    return verifySignature('sha256', Buffer.concat([Buffer.from(timestamp), body]), key, signature);
  },
  parse: (request) => reportsOf(request).map((report) => eventOf(report)),
};

function publicKeyOf(base64: string): KeyObject | undefined {
  try {
    const key = createPublicKey({ key: Buffer.from(base64, 'base64'), format: 'der', type: 'spki' });
    return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : undefined;
  } catch {
    return undefined;
  }
}

const text = z.coerce.string().nullish();
const reportShape = z.looseObject({
  event: z.string(),
  sg_event_id: z.string().default(''),
  sg_message_id: z.string().nullish(),
  [OWN_ID]: z.string().nullish(),
  type: text,
  bounce_classification: text,
  reason: text,
  status: text,
});
type Report = z.output<typeof reportShape>;

/** One event that cannot be read must not keep the others away. */
function reportsOf({ body }: WebhookRequest): readonly (Report | undefined)[] {
  const list = z.array(z.unknown()).parse(JSON.parse(Buffer.from(body).toString('utf8')));
  return list.map((one) => reportShape.safeParse(one).data);
}

function eventOf(report: Report | undefined): WebhookEvent {
  if (!report) return { kind: 'ignored', name: 'not readable' };
  const ownId = report[OWN_ID] ?? undefined;
  // What follows the first dot is SendGrid's own; before it is the id of the answer to the message.
  const messageId = report.sg_message_id?.split('.')[0] || ownId;
  const ignored = { kind: 'ignored' as const, name: report.event };
  // A bounce that comes later as a mail names neither its message nor our id.
  if (messageId === undefined) return ignored;
  const named = { id: report.sg_event_id, messageId, ownId };
  switch (report.event) {
    case 'delivered':
      return { kind: 'delivered', ...named };
    case 'spamreport':
      return { kind: 'complained', ...named };
    // From all mail of the account, or from one of its groups.
    case 'unsubscribe':
    case 'group_unsubscribe':
      return { kind: 'unsubscribed', ...named };
    case 'bounce':
      return { kind: 'bounced', ...named, bounceType: bounceTypeOf(report), ...detailsOf(report) };
    case 'dropped':
      return { kind: 'bounced', ...named, bounceType: dropTypeOf(report), ...detailsOf(report) };
    default:
      return ignored;
  }
}

function detailsOf({ reason, status }: Report) {
  return { statusCode: status || undefined, description: reason || undefined };
}

/** `blocked` is said of what SendGrid tries again with the next message; only `bounce` can be about a mailbox that does not exist. */
function bounceTypeOf({ type, bounce_classification: by, status }: Report) {
  if (by === 'Reputation' || by === 'Content') return 'blocked';
  if (type === 'blocked') return status?.startsWith('5.7.') ? 'blocked' : 'soft';
  return by === 'Invalid Address' ? 'hard' : 'unclear';
}

/** It did not even try. The first two: the address has bounced before, or is none. */
function dropTypeOf({ reason }: Report) {
  return /^(?:bounced address|invalid)$/i.test(reason?.trim() ?? '') ? 'hard' : 'blocked';
}
