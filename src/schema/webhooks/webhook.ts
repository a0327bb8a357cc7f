/** Webhooks as they are seen, without their secrets, which are not read. */
import { WEBHOOK_EVENTS, webhookEventNames, type WebhookKind as Kind } from '../../domain/webhooks/webhook-events.ts';
import { hideHeaders, parseHeaders } from '../../domain/webhooks/hidden-headers.ts';
import type {
  PauseReason,
  WebhookMethod as Method,
  WebhookStatus as Status,
} from '../../domain/webhooks/webhook-fields.ts';
import { builder } from '../builder.ts';
import { closedSet } from '../enums.ts';

export const reading = { scope: 'webhooks:read' } as const;
export const writing = { scope: 'webhooks:write' } as const;

/** GraphQL allows no dot in a name. */
const words: Record<string, { value: string; description: string }> = Object.fromEntries(
  webhookEventNames.map((name) => [
    name.replace('.', '_'),
    { value: name, description: WEBHOOK_EVENTS[name].description },
  ]),
);

export const WebhookEvent = builder.enumType('WebhookEvent', {
  description: 'What a webhook reports. `webhookEvents` and the manual have the payload of each.',
  values: words,
});

export const WebhookKind = closedSet<Kind>('WebhookKind', 'Whose events a webhook reports.', {
  lifecycle: 'Of the installation: for administrators.',
  tracking: 'Opens, clicks and unsubscribes of mails.',
  subscriber: 'What happens to people of lists.',
  campaign: 'What happens to campaigns.',
});

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

const UID = { select: { uid: true } } as const;

export const Webhook = builder.prismaObject('Webhook', {
  authScopes: reading,
  description: 'Reports an event to a web server, by a signed HTTP request.',
  fields: (t) => ({
    uid: t.exposeString('uid'),
    name: t.exposeString('name'),
    kind: t.expose('kind', { type: WebhookKind }),
    event: t.expose('event', { type: WebhookEvent }),
    listUid: t.string({
      nullable: true,
      description: 'Only of this list; null: of all.',
      select: { list: UID },
      resolve: ({ list }) => list?.uid,
    }),
    campaignUid: t.string({
      nullable: true,
      description: 'Only of this campaign; null: of all.',
      select: { campaign: UID },
      resolve: ({ campaign }) => campaign?.uid,
    }),
    templateUid: t.string({
      nullable: true,
      description: 'Only of automations’ and transactional mails by this template; null: of all mails.',
      select: { template: UID },
      resolve: ({ template }) => template?.uid,
    }),
    withMachines: t.exposeBoolean('withMachines', { description: 'Opens and clicks by programs count, too.' }),
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
