/**
 * The catalogue of events that webhooks report: what each means, the shape of its payload, an example. Names and shapes are those of
 * specification 6.1 (decisions D42, D93), and those of customers' own webhooks; the manual's page is made from here. They are a contract:
 * never change one.
 */
import { z } from 'zod';
import { CUSTOMER_EVENTS, CUSTOMER_SHAPES } from './customer-webhook-events.ts';

const time = z.iso.datetime().describe('ISO 8601, in UTC.');
const customerId = z.int().describe('The customer.');
const planId = z.string().nullable().describe('The plan. Null: it was deleted meanwhile.');

const always = {
  fired_at: time.describe('When it happened, ISO 8601 in UTC.'),
  occurred_at: time.describe('The same.'),
  sequence: z
    .int()
    .describe('Orders the events of one object: a greater number happened later. Deliveries come in any order.'),
};

function shapeOf<Event extends string, Shape extends z.ZodRawShape>(event: Event, shape: Shape) {
  return z.strictObject({ event: z.literal(event), ...shape, ...always });
}

const subscription = { customer_id: customerId, plan_id: planId };

const SHAPES = {
  new_customer: shapeOf('new_customer', { customer_id: customerId }),
  new_subscription: shapeOf('new_subscription', subscription),
  change_plan: shapeOf('change_plan', {
    customer_id: customerId,
    old_plan_id: planId,
    new_plan_id: planId,
  }),
  cancel_subscription: shapeOf('cancel_subscription', subscription),
  terminate_subscription: shapeOf('terminate_subscription', subscription),
  automation_webhook: shapeOf('automation_webhook', {
    automation_id: z.int().describe('The automation.'),
    automation_uid: z.string().describe('The same, as all other calls name it.'),
    node: z.string().describe('The node of the flow.'),
    subscriber_uid: z.string().describe('The person in the flow, as `/automations/:uid/api/call` takes it.'),
  }),
};

const ALL = { ...SHAPES, ...CUSTOMER_SHAPES };
/** Events of the installation: webhooks of administrators. */
export type LifecycleEvent = keyof typeof SHAPES;
export type WebhookEvent = keyof typeof ALL;
export type PayloadOf<Event extends WebhookEvent> = z.output<(typeof ALL)[Event]>;
export type WebhookPayload = { [Event in WebhookEvent]: PayloadOf<Event> }[WebhookEvent];

export interface CataloguedEvent {
  readonly description: string;
  readonly shape: z.ZodType;
  readonly example: WebhookPayload;
}

const AT = { fired_at: '2026-11-27T09:30:00.000Z', occurred_at: '2026-11-27T09:30:00.000Z', sequence: 4711 };
const OF_SUBSCRIPTION = { customer_id: 42, plan_id: '7' };

/** All of them, by name. */
export const WEBHOOK_EVENTS: Readonly<Record<WebhookEvent, CataloguedEvent>> = {
  new_customer: {
    description: 'A customer was added.',
    shape: SHAPES.new_customer,
    example: { event: 'new_customer', customer_id: 42, ...AT },
  },
  new_subscription: {
    description: 'A subscription of a customer has started.',
    shape: SHAPES.new_subscription,
    example: { event: 'new_subscription', ...OF_SUBSCRIPTION, ...AT },
  },
  change_plan: {
    description: 'A customer who had a plan has another one now.',
    shape: SHAPES.change_plan,
    example: { event: 'change_plan', customer_id: 42, old_plan_id: '7', new_plan_id: '8', ...AT },
  },
  cancel_subscription: {
    description: 'A subscription was cancelled: it ends with its period.',
    shape: SHAPES.cancel_subscription,
    example: { event: 'cancel_subscription', ...OF_SUBSCRIPTION, ...AT },
  },
  terminate_subscription: {
    description: 'A subscription that had started has ended, and no other one replaces it.',
    shape: SHAPES.terminate_subscription,
    example: { event: 'terminate_subscription', ...OF_SUBSCRIPTION, ...AT },
  },
  automation_webhook: {
    description: 'A person came to an API-call node or a webhook node of an automation.',
    shape: SHAPES.automation_webhook,
    example: {
      event: 'automation_webhook',
      automation_id: 12,
      automation_uid: '6204d1f8a9c3b',
      node: 'ask',
      subscriber_uid: '5f3b9c2d1e7a4',
      ...AT,
    },
  },
  ...CUSTOMER_EVENTS,
};

/** `lifecycle`: of the installation, for administrators. The others are of a customer: on mails, on people, on campaigns. */
export const webhookKinds = ['lifecycle', 'tracking', 'subscriber', 'campaign'] as const;
export type WebhookKind = (typeof webhookKinds)[number];

export function isWebhookEvent(name: string): name is WebhookEvent {
  return Object.hasOwn(WEBHOOK_EVENTS, name);
}

export const webhookEventNames: readonly WebhookEvent[] = Object.keys(WEBHOOK_EVENTS).filter(isWebhookEvent);

/** What a webhook of this event is. */
export function kindOfEvent(event: WebhookEvent): WebhookKind {
  if (event.startsWith('subscriber.')) return 'subscriber';
  if (event.startsWith('campaign.')) return 'campaign';
  return Object.hasOwn(SHAPES, event) ? 'lifecycle' : 'tracking';
}
