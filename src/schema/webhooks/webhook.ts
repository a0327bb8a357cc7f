/** Webhooks as administrators see them, without their secrets, which are not read. */
import type { WebhookEvent as Event } from '../../domain/webhooks/webhook-events.ts';
import { WEBHOOK_EVENTS } from '../../domain/webhooks/webhook-events.ts';
import { hideHeaders, parseHeaders } from '../../domain/webhooks/hidden-headers.ts';
import type {
  PauseReason,
  WebhookMethod as Method,
  WebhookStatus as Status,
} from '../../domain/webhooks/webhook-fields.ts';
import { builder } from '../builder.ts';
import { closedSet } from '../enums.ts';

export const forAdministrators = { admin: true } as const;

export const WebhookEvent = closedSet<Event>(
  'WebhookEvent',
  'What a webhook tells. The manual has the payload of each.',
  {
    new_customer: WEBHOOK_EVENTS.new_customer.description,
    new_subscription: WEBHOOK_EVENTS.new_subscription.description,
    change_plan: WEBHOOK_EVENTS.change_plan.description,
    cancel_subscription: WEBHOOK_EVENTS.cancel_subscription.description,
    terminate_subscription: WEBHOOK_EVENTS.terminate_subscription.description,
    automation_webhook: WEBHOOK_EVENTS.automation_webhook.description,
  },
);

export const WebhookMethod = closedSet<Method>('WebhookMethod', 'The method of a webhook’s requests.', {
  POST: 'The usual one.',
  PUT: 'For receivers that ask for it.',
  PATCH: 'For receivers that ask for it.',
});

export const WebhookStatus = closedSet<Status>('WebhookStatus', 'Whether a webhook is sent.', {
  active: 'It is sent.',
  inactive: 'Switched off by hand: nothing is sent, and what happens is not kept.',
  paused: 'Mailwright has stopped sending. What happens is kept, and can be sent by hand when it is active again.',
});

const WebhookPauseReason = closedSet<PauseReason>('WebhookPauseReason', 'Why a webhook was paused.', {
  gone: 'Its receiver answered 410.',
  failing: 'All attempts of five days have failed.',
});

export const Webhook = builder.prismaObject('Webhook', {
  authScopes: forAdministrators,
  description: 'Tells an event of the installation to a web server, by a signed HTTP request.',
  fields: (t) => ({
    uid: t.exposeString('uid'),
    name: t.exposeString('name'),
    event: t.expose('event', { type: WebhookEvent }),
    url: t.exposeString('url'),
    method: t.expose('method', { type: WebhookMethod }),
    headers: t.field({
      type: 'JsonObject',
      description:
        'Further headers of the requests, by name. Their values are shown as `(hidden)`, besides that of `Content-Type`.',
      select: { headers: true },
      resolve: ({ headers }) => hideHeaders(parseHeaders(headers)),
    }),
    bodyTemplate: t.exposeString('bodyTemplate', {
      nullable: true,
      description: 'Liquid over the payload; null: the body is the payload as JSON.',
    }),
    retryTimes: t.exposeInt('retryTimes', { description: 'Retries of a failed delivery.' }),
    retryAfterSeconds: t.exposeInt('retryAfterSeconds', {
      description: 'Until the first retry; the time doubles with each further one.',
    }),
    retrySecondsMax: t.exposeInt('retrySecondsMax', { description: 'The longest time between two attempts.' }),
    status: t.expose('status', { type: WebhookStatus }),
    pauseReason: t.expose('pauseReason', { type: WebhookPauseReason, nullable: true }),
    pausedAt: t.expose('pausedAt', { type: 'DateTime', nullable: true }),
    failingSince: t.expose('failingSince', {
      type: 'DateTime',
      nullable: true,
      description: 'Every attempt has failed since then; null: the last one succeeded, or there was none.',
    }),
    previousSecretEndsAt: t.expose('previousSecretEndsAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Until then the secret before the present one signs, too.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  }),
});
