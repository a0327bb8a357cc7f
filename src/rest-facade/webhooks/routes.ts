/** Webhooks of administrators (specification 2.10, decision D43) and of customers (6.2): extensions of the contract. */
import { created, done, ok, page } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { answersBody, answersCreated, answersPage } from '../shapes.ts';
import { eventWord, presentDelivery, presentEvent, presentSecret, presentWebhook } from './present.ts';
import {
  oneWebhookShape,
  webhookActionShape,
  webhookDeletedShape,
  webhookDeliveryActionShape,
  webhookDeliveryShape,
  webhookEventsShape,
  webhookResentShape,
  webhookSecretShape,
  webhookShape,
} from './shapes.ts';

export const webhookRows = [
  endpoint({
    method: 'GET',
    path: '/webhooks',
    access: 'token',
    summary: 'Lists your webhooks, and for administrators those of the installation, the oldest first.',
    details: '`kind` is `lifecycle`, `tracking`, `subscriber` or `campaign`.',
    answers: answersPage(webhookShape),
    operation: 'Webhooks',
    variables: (input) => ({ kind: input.text('kind'), ...scope(input), ...pageArguments(input) }),
    present: ({ webhooksPage }) => page(webhooksPage, presentWebhook),
  }),
  endpoint({
    method: 'POST',
    path: '/webhooks',
    access: 'token',
    summary: 'Makes a webhook, which reports what happens from now on. Its secret is answered only now.',
    details:
      'Events of the kind `lifecycle` need an administrator. `list_uid`, `campaign_uid` or `template_uid` limit it; without them it is about everything of yours. `with_machines`: opens and clicks by programs count, too.',
    answers: answersCreated(webhookSecretShape),
    required: ['name', 'event', 'url'],
    operation: 'CreateWebhook',
    variables: (input) => ({
      input: {
        ...values(input),
        name: input.text('name') ?? '',
        event: eventWord(input.text('event')) ?? '',
        url: input.text('url') ?? '',
        secret: input.nullableText('secret'),
        ...scope(input),
      },
    }),
    fieldName: headerField,
    present: ({ createWebhook }) => created('Webhook was successfully created', presentSecret(createWebhook)),
  }),
  endpoint({
    method: 'GET',
    path: '/webhook_events',
    access: 'token',
    summary: 'Lists the events that webhooks report, with the schema and an example of each payload.',
    answers: answersBody(webhookEventsShape),
    operation: 'WebhookEvents',
    variables: () => ({}),
    present: ({ webhookEvents }) => ok({ events: webhookEvents.nodes.map(presentEvent) }),
  }),
  endpoint({
    method: 'GET',
    path: '/webhooks/:uid',
    access: 'token',
    summary: 'Shows one webhook, without its secret.',
    answers: answersBody(oneWebhookShape),
    operation: 'Webhook',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ webhook }) => ok({ webhook: presentWebhook(webhook) }),
  }),
  endpoint({
    method: 'PATCH',
    path: '/webhooks/:uid',
    access: 'token',
    summary: 'Changes a webhook. The status `active` ends a pause.',
    answers: answersBody(webhookActionShape),
    operation: 'UpdateWebhook',
    variables: (input) => ({
      input: {
        ...values(input),
        uid: input.param('uid'),
        name: input.text('name'),
        event: eventWord(input.text('event')),
        url: input.text('url'),
      },
    }),
    fieldName: headerField,
    present: ({ updateWebhook: webhook }) =>
      done('Webhook was successfully updated', { webhook_uid: webhook.uid, webhook: presentWebhook(webhook) }),
  }),
  endpoint({
    method: 'DELETE',
    path: '/webhooks/:uid',
    access: 'token',
    summary: 'Deletes a webhook. What waits is not sent.',
    answers: answersBody(webhookDeletedShape),
    operation: 'DeleteWebhook',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ deleteWebhook: { uid } }) => done('Deleted', { webhook_uid: uid }),
  }),
  endpoint({
    method: 'POST',
    path: '/webhooks/:uid/secret',
    access: 'token',
    summary: 'Gives a webhook another secret. For 24 hours (`previous_secret_hours`) the one before signs as well.',
    details:
      'During this time `X-Service-Signature` is made with the secret before, `X-Service-Signature-Next` with the new one. 0 hours: somebody else knows the secret before.',
    answers: answersBody(webhookSecretShape),
    operation: 'RotateWebhookSecret',
    variables: (input) => ({
      uid: input.param('uid'),
      previousSecretHours: input.integer('previous_secret_hours'),
    }),
    present: ({ rotateWebhookSecret }) => done('The webhook has another secret', presentSecret(rotateWebhookSecret)),
  }),
  endpoint({
    method: 'POST',
    path: '/webhooks/:uid/test',
    actsOutside: true,
    access: 'token',
    summary: 'Sends the example of the webhook’s event at once.',
    details: 'The answer is 200 also when the test failed: `delivery.state` says it. At most 60 tests in an hour.',
    answers: answersBody(webhookDeliveryActionShape),
    operation: 'TestWebhook',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ testWebhook: delivery }, _view, input) =>
      done(delivery.state === 'delivered' ? 'The test was successful' : 'The test failed', {
        webhook_uid: input.param('uid'),
        delivery: presentDelivery(delivery),
      }),
  }),
  endpoint({
    method: 'GET',
    path: '/webhooks/:uid/deliveries',
    access: 'token',
    summary: 'Lists the deliveries of a webhook with their attempts, the newest first.',
    answers: answersPage(webhookDeliveryShape),
    operation: 'WebhookDeliveries',
    variables: (input) => ({ ...range(input), ...pageArguments(input) }),
    present: ({ webhookDeliveriesPage }) => page(webhookDeliveriesPage, presentDelivery),
  }),
  endpoint({
    method: 'POST',
    path: '/webhooks/:uid/deliveries/:delivery_uid/resend',
    access: 'token',
    summary: 'Sends one delivery again, with the same body and id.',
    answers: answersBody(webhookDeliveryActionShape),
    operation: 'ResendWebhookDelivery',
    variables: (input) => ({ webhookUid: input.param('uid'), uid: input.param('delivery_uid') }),
    present: ({ resendWebhookDelivery: delivery }, _view, input) =>
      done('The delivery is sent again', { webhook_uid: input.param('uid'), delivery: presentDelivery(delivery) }),
  }),
  endpoint({
    method: 'POST',
    path: '/webhooks/:uid/deliveries/resend',
    access: 'token',
    summary: 'Sends deliveries of a time again: failed and parked ones, or those in `state`.',
    details:
      'At most 10,000 in a call, the oldest first. While `are_more` is true, call again with `after`, the `last_uid` of the answer before.',
    answers: answersBody(webhookResentShape),
    operation: 'ResendWebhookDeliveries',
    variables: (input) => ({ ...range(input), after: input.text('after') }),
    present: ({ resendWebhookDeliveries: { count, areMore, lastUid } }, _view, input) =>
      done('The deliveries are sent again', {
        ...{ webhook_uid: input.param('uid'), count, are_more: areMore },
        last_uid: lastUid ?? null,
      }),
  }),
];

function values(input: Input) {
  const headers = input.plainObject('headers');
  return {
    method: input.text('method'),
    headers: headers && { ...headers },
    bodyTemplate: input.nullableText('body_template'),
    retryTimes: input.integer('retry_times'),
    retryAfterSeconds: input.integer('retry_after_seconds'),
    retrySecondsMax: input.integer('retry_seconds_max'),
    status: input.text('status'),
    withMachines: input.flag('with_machines'),
  };
}

function scope(input: Input) {
  return {
    listUid: input.text('list_uid'),
    campaignUid: input.text('campaign_uid'),
    templateUid: input.text('template_uid'),
  };
}

function range(input: Input) {
  return {
    webhookUid: input.param('uid'),
    state: input.text('state'),
    from: input.time('from'),
    to: input.time('to'),
  };
}

/** Headers keep their names. */
function headerField(path: string): string | undefined {
  return path.startsWith('headers.') ? path : undefined;
}
