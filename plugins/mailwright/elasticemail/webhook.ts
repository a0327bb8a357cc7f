/**
 * What Elastic Email reports: one event a request, in the query of a GET or, with the delivery method PostJson, in a JSON object. Requests can
 * be signed since 2026, but no public document says what the signature is made of; so the address is secret. After 1,000 failures in a row it
 * stops reporting.
 */
import { z } from 'zod';
import {
  knowsWebhookAddress,
  webhookAddress,
  type WebhookEvent,
  type WebhookReceiver,
  type WebhookRequest,
} from '../../../src/plugin-api/index.ts';

const field = z.union([z.string(), z.number()]).nullish().transform(String).catch('');
const text = z.preprocess((value) => value ?? '', field);
const reportShape = z.object({
  ...{ status: text, to: text, date: text, category: text },
  ...{ messageid: text, transaction: text, postback: text },
});
type Report = z.output<typeof reportShape>;

const OWN_ID = /^[A-Za-z0-9._-]{1,64}$/;

export const webhook: WebhookReceiver = {
  methods: ['GET', 'POST'],
  isUnsigned: true,
  address: webhookAddress,
  verify: knowsWebhookAddress,
  parse: (request) => [eventOf(reportOf(request))],
};

function reportOf({ query, body }: WebhookRequest): Report {
  const posted =
    body.byteLength === 0
      ? {}
      : z.record(z.string(), z.unknown()).parse(JSON.parse(Buffer.from(body).toString('utf8')));
  const fields = Object.entries({ ...query, ...posted }).map(([name, value]) => [name.toLowerCase(), value] as const);
  return reportShape.parse(Object.fromEntries(fields));
}

function eventOf({ status, to, date, category, messageid, transaction, postback }: Report): WebhookEvent {
  const messageId = messageid || transaction;
  // An address that is entered is tried without an event.
  const ignored = (name: string): WebhookEvent => ({ kind: 'ignored', name: name || 'test of the address' });
  if (messageId === '') return ignored(status);
  const named = {
    // Its events have no id.
    id: [messageId, to, status, category, date].join(' '),
    ...{ messageId, ownId: OWN_ID.test(postback) ? postback : undefined },
  };
  switch (status.toLowerCase()) {
    case 'sent':
      return { kind: 'delivered', ...named };
    case 'error':
    case 'bounce': {
      const bounceType = category === '' ? 'unclear' : (BOUNCES[category.toLowerCase()] ?? 'unclear');
      if (bounceType === 'none') return ignored(`${status} ${category}`);
      return { kind: 'bounced', ...named, bounceType, description: category || undefined };
    }
    case 'abusereport':
      return { kind: 'complained', ...named };
    case 'unsubscribed':
      return { kind: 'unsubscribed', ...named };
    default:
      return ignored(status);
  }
}

/** By its categories in small letters. `none`: somebody stopped it, and nobody refused it. */
const BOUNCES: Readonly<Record<string, 'hard' | 'soft' | 'blocked' | 'none'>> = {
  nomailbox: 'hard',
  // Among others: the mailbox is full.
  accountproblem: 'soft',
  ...{
    greylisted: 'soft',
    throttled: 'soft',
    timeout: 'soft',
    connectionproblem: 'soft',
    connectionterminated: 'soft',
  },
  ...{ dnsproblem: 'soft', codeerror: 'soft', unknown: 'soft' },
  ...{ spam: 'blocked', blacklisted: 'blocked', spfproblem: 'blocked', whitelistingproblem: 'blocked' },
  // It did not try: the address is on a list of Elastic Email's.
  ...{ contentfilter: 'blocked', notdelivered: 'blocked', suppressed: 'blocked' },
  ...{ ignore: 'none', manualcancel: 'none', notdeliveredcancelled: 'none' },
};
