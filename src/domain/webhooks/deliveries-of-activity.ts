/** Which webhooks get what somebody did, and with which payload (specification 6.2). */
import type { Queryable } from '../../db/database.ts';
import { subscriberUid } from '../../lib/ids.ts';
import { CUSTOMER_SHAPES, type CustomerWebhookEvent, type PayloadOfCustomer } from './customer-webhook-events.ts';
import type { NewDelivery } from './delivery-store.ts';
import type { WebhookActivity } from './webhook-activity-store.ts';
import { listeningWebhooks, type ListeningWebhook } from './webhook-store.ts';

/** The deliveries, in the order of what happened. */
export async function deliveriesOf(db: Queryable, taken: readonly WebhookActivity[]): Promise<readonly NewDelivery[]> {
  const known = taken.flatMap((activity) => {
    const event = isCustomerEvent(activity.event) ? activity.event : undefined;
    const payload = event && payloadOf(event, activity);
    return payload ? [{ activity, event: payload.event, payload: JSON.stringify(payload) }] : [];
  });
  if (known.length === 0) return [];
  const events = [...new Set(known.map(({ event }) => event))];
  const webhooks = await listeningWebhooks(db, events, [...new Set(taken.map(({ customerId }) => customerId))]);
  return known.flatMap(({ activity, event, payload }) => {
    const { sequence, personId, at } = activity;
    return webhooks
      .filter((webhook) => asksFor(webhook, event, activity))
      .map((webhook) => ({
        ...{ webhook, event, personId, payload, happenedAt: at },
        sourceKey: `activity ${sequence}`,
      }));
  });
}

function isCustomerEvent(event: string): event is CustomerWebhookEvent {
  return Object.hasOwn(CUSTOMER_SHAPES, event);
}

function asksFor(webhook: ListeningWebhook, event: CustomerWebhookEvent, activity: WebhookActivity): boolean {
  return (
    webhook.event === event &&
    webhook.customerId === activity.customerId &&
    webhook.createdAt <= activity.at &&
    (webhook.withMachines || !activity.isMachine) &&
    (['listId', 'campaignId', 'templateId'] as const).every(
      (name) => webhook[name] === null || webhook[name] === activity[name],
    )
  );
}

type Payload = { [Event in CustomerWebhookEvent]: PayloadOfCustomer<Event> }[CustomerWebhookEvent];

/** Undefined: there is nothing to report any more, because the person or the event is gone. */
function payloadOf(event: CustomerWebhookEvent, activity: WebhookActivity): Payload | undefined {
  const at = activity.at.toISOString();
  const always = { occurred_at: at, sequence: Number(activity.sequence) };
  if (event === 'open' || event === 'click' || event === 'unsubscribe') return mailPayload(event, activity, always);
  const { email, listUid } = activity;
  if (listUid === null) return undefined;
  const person = { list_uid: listUid, subscriber_uid: subscriberUid(activity.personId), fired_at: at, ...always };
  if (event === 'subscriber.removed') return { event, ...person, subscriber: null };
  if (event === 'subscriber.moved') return { event, ...person, subscriber: email };
  if (email === null) return undefined;
  return personPayload(event, activity, { ...person, subscriber: email });
}

type MailEvent = 'open' | 'click' | 'unsubscribe';
type Always = Pick<Payload, 'occurred_at' | 'sequence'>;

function mailPayload(event: MailEvent, activity: WebhookActivity, always: Always): Payload | undefined {
  const { email, campaignUid, templateUid, url, isThere } = activity;
  if (email === null || !isThere) return undefined;
  const mail = {
    campaign_uid: campaignUid,
    subscriber: email,
    ...(templateUid !== null && { template_uid: templateUid }),
  };
  const at = always.occurred_at;
  if (event === 'open') return { event, ...mail, opened_at: at, ...always };
  if (event === 'click') return { event, ...mail, url: url ?? '', clicked_at: at, ...always };
  return { event, ...mail, unsubscribed_at: at, ...always };
}

type Person = Omit<PayloadOfCustomer<'subscriber.bounced'>, 'event'>;

function personPayload(
  event: Exclude<CustomerWebhookEvent, MailEvent | 'subscriber.moved' | 'subscriber.removed'>,
  { email, fields, data }: WebhookActivity,
  person: Person,
): Payload | undefined {
  switch (event) {
    case 'subscriber.added': {
      const status = data?.['status'];
      const isText = typeof status === 'string';
      return { event, ...person, status: isText ? status : 'subscribed', fields: textsOf(fields), tags: tagsIn(data) };
    }
    case 'subscriber.confirmed':
      return { event, ...person, fields: textsOf(fields) };
    case 'subscriber.changed': {
      const names = stringsIn(data?.['fields']);
      const now: Record<string, string> = { ...textsOf(fields), ...(email !== null && { EMAIL: email }) };
      return { event, ...person, fields: Object.fromEntries(names.map((name) => [name, now[name] ?? ''])) };
    }
    case 'subscriber.tagged':
    case 'subscriber.untagged':
      return { event, ...person, tags: tagsIn(data) };
    case 'subscriber.unsubscribed':
    case 'subscriber.resubscribed':
    case 'subscriber.bounced':
    case 'subscriber.complained':
      return { event, ...person };
    default:
      // Of campaigns: they are in the event record.
      return undefined;
  }
}

function tagsIn(data: WebhookActivity['data']): string[] {
  return stringsIn(data?.['tags']);
}

function stringsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

function textsOf(fields: Readonly<Record<string, unknown>> | null): Record<string, string> {
  return Object.fromEntries(Object.entries(fields ?? {}).map(([tag, value]) => [tag, String(value)]));
}
