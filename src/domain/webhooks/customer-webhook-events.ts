/**
 * The catalogue of events of customers' own webhooks: on mails (specification 6.2), on people of their lists, on campaigns. Names and shapes
 * are a contract: never change one.
 */
import { z } from 'zod';

const time = z.iso.datetime().describe('ISO 8601, in UTC.');
const email = z.string().describe('The address of the person.');
const fields = z.record(z.string(), z.string()).describe('Values of the fields by their tags, as they are now.');
const tags = z.array(z.string()).describe('The tags.');
const listUid = z.string().describe('The list.');

const always = {
  occurred_at: time.describe('When it happened, ISO 8601 in UTC.'),
  sequence: z
    .int()
    .describe('Orders the events of one object: a greater number happened later. Deliveries come in any order.'),
};

const mail = {
  campaign_uid: z.string().nullable().describe('The campaign. Null: a mail of an automation or a transactional one.'),
  subscriber: email,
  template_uid: z.string().exactOptional().describe('The template, of a mail that is not of a campaign.'),
};

function mailShape<Event extends string, Shape extends z.ZodRawShape>(event: Event, shape: Shape) {
  return z.strictObject({ event: z.literal(event), ...mail, ...shape, ...always });
}

function personShape<Event extends string, Shape extends z.ZodRawShape>(event: Event, shape: Shape) {
  return z.strictObject({
    event: z.literal(event),
    list_uid: listUid,
    subscriber_uid: z.string().describe('The person.'),
    ...shape,
    fired_at: time.describe('The same as `occurred_at`.'),
    ...always,
  });
}

function campaignShape<Event extends string, Shape extends z.ZodRawShape>(event: Event, shape: Shape) {
  return z.strictObject({
    event: z.literal(event),
    campaign_uid: z.string().describe('The campaign.'),
    list_uid: listUid.nullable().describe('The list. Null: it was deleted.'),
    ...shape,
    ...always,
  });
}

const who = { subscriber: email };
const fired = { fired_at: time.describe('The same as `occurred_at`.') };
const reason = { ...fired, reason: z.string().nullable().describe('The code of the reason. Null: by hand.') };

export const CUSTOMER_SHAPES = {
  open: mailShape('open', { opened_at: time }),
  click: mailShape('click', { url: z.string().describe('The link that was clicked.'), clicked_at: time }),
  unsubscribe: mailShape('unsubscribe', { unsubscribed_at: time }),
  'subscriber.added': personShape('subscriber.added', {
    ...who,
    status: z.string().describe('The status with which the person came.'),
    fields,
    tags,
  }),
  'subscriber.confirmed': personShape('subscriber.confirmed', { ...who, fields }),
  'subscriber.changed': personShape('subscriber.changed', {
    ...who,
    fields: fields.describe('The changed fields by their tags, with their values now; `EMAIL` is the address.'),
  }),
  'subscriber.tagged': personShape('subscriber.tagged', { ...who, tags: tags.describe('The tags that were added.') }),
  'subscriber.untagged': personShape('subscriber.untagged', {
    ...who,
    tags: tags.describe('The tags that were removed.'),
  }),
  'subscriber.moved': personShape('subscriber.moved', {
    subscriber: z.string().nullable().describe('The address. Null: the person is not on this list any more.'),
  }),
  'subscriber.unsubscribed': personShape('subscriber.unsubscribed', who),
  'subscriber.resubscribed': personShape('subscriber.resubscribed', who),
  'subscriber.removed': personShape('subscriber.removed', {
    subscriber: z.null().describe('Null: the address is not kept.'),
  }),
  'subscriber.bounced': personShape('subscriber.bounced', who),
  'subscriber.complained': personShape('subscriber.complained', who),
  'campaign.scheduled': campaignShape('campaign.scheduled', fired),
  'campaign.started': campaignShape('campaign.started', fired),
  'campaign.paused': campaignShape('campaign.paused', reason),
  'campaign.resumed': campaignShape('campaign.resumed', fired),
  'campaign.sent': campaignShape('campaign.sent', { sent_at: time }),
  'campaign.failed': campaignShape('campaign.failed', reason),
};

export type CustomerWebhookEvent = keyof typeof CUSTOMER_SHAPES;
export type PayloadOfCustomer<Event extends CustomerWebhookEvent> = z.output<(typeof CUSTOMER_SHAPES)[Event]>;

const AT = { occurred_at: '2026-11-27T09:30:00.000Z', sequence: 4711 };
const FIRED = { fired_at: AT.occurred_at, ...AT };
const MAIL = { campaign_uid: '5f3b9c2d1e7a4', subscriber: 'ada@example.com' };
const PERSON = { list_uid: '61c0a7f2b3d8e', subscriber_uid: '5f3b9c2d1e7a4', subscriber: 'ada@example.com' };
const CAMPAIGN = { campaign_uid: '5f3b9c2d1e7a4', list_uid: '61c0a7f2b3d8e' };
const ADA = { FIRST_NAME: 'Ada', LAST_NAME: 'Lovelace' };

interface Catalogued<Event extends CustomerWebhookEvent> {
  readonly description: string;
  readonly shape: (typeof CUSTOMER_SHAPES)[Event];
  readonly example: PayloadOfCustomer<Event>;
}

function catalogued<Event extends CustomerWebhookEvent>(
  event: Event,
  description: string,
  example: PayloadOfCustomer<Event>,
): Catalogued<Event> {
  return { description, shape: CUSTOMER_SHAPES[event], example };
}

/** All of them, by name. */
export const CUSTOMER_EVENTS = {
  open: catalogued('open', 'Somebody opened a mail. Programs count only with `with_machines`.', {
    ...{ event: 'open', ...MAIL, opened_at: AT.occurred_at, ...AT },
  }),
  click: catalogued('click', 'Somebody clicked a link of a mail. Programs count only with `with_machines`.', {
    ...{ event: 'click', ...MAIL, url: 'https://shop.example/sale', clicked_at: AT.occurred_at, ...AT },
  }),
  unsubscribe: catalogued('unsubscribe', 'Somebody unsubscribed by a mail.', {
    ...{ event: 'unsubscribe', ...MAIL, unsubscribed_at: AT.occurred_at, ...AT },
  }),
  'subscriber.added': catalogued('subscriber.added', 'A person came to a list.', {
    ...{ event: 'subscriber.added', ...PERSON, status: 'subscribed', fields: ADA, tags: ['customer'], ...FIRED },
  }),
  'subscriber.confirmed': catalogued('subscriber.confirmed', 'A person who had to confirm is subscribed now.', {
    ...{ event: 'subscriber.confirmed', ...PERSON, fields: ADA, ...FIRED },
  }),
  'subscriber.changed': catalogued('subscriber.changed', 'Values of a person have changed.', {
    ...{ event: 'subscriber.changed', ...PERSON, fields: { FIRST_NAME: 'Ada' }, ...FIRED },
  }),
  'subscriber.tagged': catalogued('subscriber.tagged', 'A person got tags.', {
    ...{ event: 'subscriber.tagged', ...PERSON, tags: ['customer'], ...FIRED },
  }),
  'subscriber.untagged': catalogued('subscriber.untagged', 'A person lost tags.', {
    ...{ event: 'subscriber.untagged', ...PERSON, tags: ['customer'], ...FIRED },
  }),
  'subscriber.moved': catalogued('subscriber.moved', 'A person was moved from this list to another one.', {
    ...{ event: 'subscriber.moved', ...PERSON, ...FIRED },
  }),
  'subscriber.unsubscribed': catalogued('subscriber.unsubscribed', 'A person left the list.', {
    ...{ event: 'subscriber.unsubscribed', ...PERSON, ...FIRED },
  }),
  'subscriber.resubscribed': catalogued('subscriber.resubscribed', 'A person who had left is subscribed again.', {
    ...{ event: 'subscriber.resubscribed', ...PERSON, ...FIRED },
  }),
  'subscriber.removed': catalogued('subscriber.removed', 'A person was removed from the list.', {
    ...{ event: 'subscriber.removed', ...PERSON, subscriber: null, ...FIRED },
  }),
  'subscriber.bounced': catalogued('subscriber.bounced', 'A mail to a person came back.', {
    ...{ event: 'subscriber.bounced', ...PERSON, ...FIRED },
  }),
  'subscriber.complained': catalogued('subscriber.complained', 'A person called a mail unwanted.', {
    ...{ event: 'subscriber.complained', ...PERSON, ...FIRED },
  }),
  'campaign.scheduled': catalogued('campaign.scheduled', 'A campaign will start at its time.', {
    ...{ event: 'campaign.scheduled', ...CAMPAIGN, ...FIRED },
  }),
  'campaign.started': catalogued('campaign.started', 'A campaign has begun to send.', {
    ...{ event: 'campaign.started', ...CAMPAIGN, ...FIRED },
  }),
  'campaign.paused': catalogued('campaign.paused', 'A campaign was paused, by hand or by Mailwright.', {
    ...{ event: 'campaign.paused', ...CAMPAIGN, reason: 'subscription_ended', ...FIRED },
  }),
  'campaign.resumed': catalogued('campaign.resumed', 'A paused campaign goes on.', {
    ...{ event: 'campaign.resumed', ...CAMPAIGN, ...FIRED },
  }),
  'campaign.sent': catalogued('campaign.sent', 'A campaign is done: every message has a result.', {
    ...{ event: 'campaign.sent', ...CAMPAIGN, sent_at: AT.occurred_at, ...AT },
  }),
  'campaign.failed': catalogued('campaign.failed', 'A campaign had nobody to send to when its time came.', {
    ...{ event: 'campaign.failed', ...CAMPAIGN, reason: 'no_audience', ...FIRED },
  }),
} satisfies { readonly [Event in CustomerWebhookEvent]: Catalogued<Event> };
