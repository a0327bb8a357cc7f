/** What SparkPost reports: a list of events a request, each in an envelope by its family. It signs nothing, so the address is secret. */
import { z } from 'zod';
import {
  knowsWebhookAddress,
  webhookAddress,
  type WebhookEvent,
  type WebhookReceiver,
} from '../../../src/plugin-api/index.ts';

/** Our id in the recipient's metadata. */
export const OWN_ID = 'mailwright_id';

export const webhook: WebhookReceiver = {
  isUnsigned: true,
  address: webhookAddress,
  verify: (request, settings) => knowsWebhookAddress(request, settings),
  parse({ body }) {
    const list = z.array(z.unknown()).parse(JSON.parse(Buffer.from(body).toString('utf8')));
    return list.map((one) => eventIn(one));
  },
};

const text = z.coerce.string().nullish();
const eventShape = z.looseObject({
  type: z.string(),
  event_id: z.coerce.string().default(''),
  transmission_id: text,
  // Empty metadata come as an empty list.
  rcpt_meta: z.union([z.looseObject({ [OWN_ID]: z.string().nullish() }), z.array(z.unknown())]).nullish(),
  bounce_class: text,
  raw_reason: text,
  reason: text,
  fbtype: text,
});
type Report = z.output<typeof eventShape>;

const envelopeShape = z.object({ msys: z.record(z.string(), z.unknown()) });

/** One event that cannot be read must not keep the others away. */
function eventIn(one: unknown): WebhookEvent {
  const envelope = envelopeShape.safeParse(one).data?.msys;
  const [inner] = Object.values(envelope ?? {});
  // With an empty one SparkPost tries an address that was entered.
  if (envelope && inner === undefined) return { kind: 'ignored', name: 'ping' };
  const report = eventShape.safeParse(inner).data;
  return report ? eventOf(report) : { kind: 'ignored', name: 'not readable' };
}

function eventOf(report: Report): WebhookEvent {
  const meta = report.rcpt_meta;
  const ownId = (meta && !Array.isArray(meta) && meta[OWN_ID]) || undefined;
  const messageId = report.transmission_id || ownId;
  const ignored = { kind: 'ignored' as const, name: report.type };
  if (messageId === undefined) return ignored;
  const named = { id: report.event_id, messageId, ownId };
  const description = report.raw_reason || report.reason || undefined;
  switch (report.type) {
    case 'delivery':
      return { kind: 'delivered', ...named };
    case 'spam_complaint':
      return { kind: 'complained', ...named, feedbackType: report.fbtype || undefined };
    case 'list_unsubscribe':
    case 'link_unsubscribe':
      return { kind: 'unsubscribed', ...named };
    case 'bounce':
    case 'out_of_band': {
      const bounceType = bounceTypeOf(report.bounce_class ?? '');
      return bounceType === 'none' ? ignored : { kind: 'bounced', ...named, bounceType, description };
    }
    // It did not even try: by its rules and lists, or because it could not make the message.
    case 'policy_rejection':
    case 'generation_rejection':
    case 'generation_failure':
      return { kind: 'bounced', ...named, bounceType: 'blocked', description };
    default:
      return ignored;
  }
}

/** Its classes of bounces. Mails that answer by themselves are no bounces, although they are reported as such. */
function bounceTypeOf(bounceClass: string) {
  switch (bounceClass) {
    case '10':
    case '30':
    case '90':
      return 'hard';
    case '20':
    case '21':
    case '22':
    case '23':
    case '24':
    case '40':
    case '70':
      return 'soft';
    case '25':
    case '26':
    case '50':
    case '51':
    case '52':
    case '53':
    case '54':
      return 'blocked';
    case '60':
    case '80':
    case '100':
      return 'none';
    default:
      return 'unclear';
  }
}
