/** The log of webhooks: deliveries and their attempts. */
import type { DeliveryState } from '../../domain/webhooks/delivery-store.ts';
import type { LoggedAttempt, LoggedDelivery } from '../../domain/webhooks/webhook-log-read-model.ts';
import { builder } from '../builder.ts';
import { definePage } from '../page.ts';
import { reading, WebhookEvent } from './webhook.ts';

export const WebhookDeliveryState = builder.enumType('WebhookDeliveryState', {
  description: 'What became of a delivery.',
  values: {
    waiting: { description: 'It waits for its first or next attempt.' },
    delivered: { description: 'The receiver answered 2xx.' },
    failed: { description: 'All its attempts have failed.' },
    parked: {
      description: 'Its webhook was paused or switched off before it was delivered: it can be sent again by hand.',
    },
  } satisfies Record<DeliveryState, object>,
});

const WebhookAttempt = builder.objectRef<LoggedAttempt>('WebhookAttempt').implement({
  description: 'One request of a delivery, and its answer.',
  authScopes: reading,
  fields: (t) => ({
    attempt: t.exposeInt('attempt', { description: 'Its number, from 1.' }),
    at: t.expose('at', { type: 'DateTime' }),
    method: t.string({ resolve: ({ request }) => request.method }),
    url: t.string({ resolve: ({ request }) => request.url }),
    headers: t.field({
      type: 'JsonObject',
      description: 'The headers that were sent. Values of the webhook’s own headers are hidden.',
      resolve: ({ request }) => ({ ...request.headers }),
    }),
    status: t.exposeInt('status', { nullable: true, description: 'Of the answer; null: there was none.' }),
    durationMs: t.exposeInt('durationMs'),
    answer: t.exposeString('answer', { nullable: true, description: 'The first 4 KiB of the answer’s body.' }),
    error: t.exposeString('error', { nullable: true, description: 'Why it failed; null: it succeeded.' }),
    nextAttemptAt: t.expose('nextAttemptAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the next attempt was planned; null: none was.',
    }),
  }),
});

export const WebhookDelivery = builder.objectRef<LoggedDelivery>('WebhookDelivery').implement({
  description: 'An event that a webhook reports, and what became of it.',
  authScopes: reading,
  fields: (t) => ({
    uid: t.exposeString('uid', { description: 'The header `X-Service-Delivery` of every attempt.' }),
    event: t.expose('event', { type: WebhookEvent }),
    state: t.expose('state', { type: WebhookDeliveryState }),
    isTest: t.exposeBoolean('isTest', { description: 'It was a test with an example.' }),
    body: t.exposeString('body', {
      description: 'The body of the requests. With a template it is the payload until the first attempt.',
    }),
    attemptCount: t.exposeInt('attempts'),
    attempts: t.field({ type: [WebhookAttempt], resolve: ({ log }) => [...log] }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the event happened.' }),
    nextAttemptAt: t.expose('nextAttemptAt', { type: 'DateTime', nullable: true }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true }),
  }),
});

export const WebhookDeliveryPage = definePage('WebhookDeliveryPage', WebhookDelivery, reading.scope);
