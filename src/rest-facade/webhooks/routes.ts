/** Webhooks of administrators (specification 2.10, decision D43): extensions of the contract. */
import { created, done, ok, page } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { answersBody, answersCreated, answersPage } from '../shapes.ts';
import { presentDelivery, presentSecret, presentWebhook } from './present.ts';
import {
  oneWebhookShape,
  webhookActionShape,
  webhookDeletedShape,
  webhookDeliveryActionShape,
  webhookDeliveryShape,
  webhookResentShape,
  webhookSecretShape,
  webhookShape,
} from './shapes.ts';

export const webhookRows = [
  endpoint({
    method: 'GET',
    path: '/webhooks',
    access: 'admin',
    summary: 'Lists the webhooks, the oldest first.',
    answers: answersPage(webhookShape),
    operation: 'Webhooks',
    variables: pageArguments,
    present: ({ webhooksPage }) => page(webhooksPage, presentWebhook),
  }),
  endpoint({
    method: 'POST',
    path: '/webhooks',
    access: 'admin',
    summary: 'Makes a webhook, which tells what happens from now on. Its secret is answered only now.',
    answers: answersCreated(webhookSecretShape),
    required: ['name', 'event', 'url'],
    operation: 'CreateWebhook',
    variables: (input) => ({
      input: {
        ...values(input),
        name: input.text('name') ?? '',
        event: input.text('event') ?? '',
        url: input.text('url') ?? '',
        secret: input.nullableText('secret'),
      },
    }),
    fieldName: headerField,
    present: ({ createWebhook }) => created('Webhook was successfully created', presentSecret(createWebhook)),
  }),
  endpoint({
    method: 'GET',
    path: '/webhooks/:uid',
    access: 'admin',
    summary: 'Shows one webhook, without its secret.',
    answers: answersBody(oneWebhookShape),
    operation: 'Webhook',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ webhook }) => ok({ webhook: presentWebhook(webhook) }),
  }),
  endpoint({
    method: 'PATCH',
    path: '/webhooks/:uid',
    access: 'admin',
    summary: 'Changes a webhook. The status `active` ends a pause.',
    answers: answersBody(webhookActionShape),
    operation: 'UpdateWebhook',
    variables: (input) => ({
      input: {
        ...values(input),
        uid: input.param('uid'),
        name: input.text('name'),
        event: input.text('event'),
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
    access: 'admin',
    summary: 'Deletes a webhook. What waits is not sent.',
    answers: answersBody(webhookDeletedShape),
    operation: 'DeleteWebhook',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ deleteWebhook: { uid } }) => done('Deleted', { webhook_uid: uid }),
  }),
  endpoint({
    method: 'POST',
    path: '/webhooks/:uid/secret',
    access: 'admin',
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
    access: 'admin',
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
    access: 'admin',
    summary: 'Lists the deliveries of a webhook with their attempts, the newest first.',
    answers: answersPage(webhookDeliveryShape),
    operation: 'WebhookDeliveries',
    variables: (input) => ({ ...range(input), ...pageArguments(input) }),
    present: ({ webhookDeliveriesPage }) => page(webhookDeliveriesPage, presentDelivery),
  }),
  endpoint({
    method: 'POST',
    path: '/webhooks/:uid/deliveries/:delivery_uid/resend',
    access: 'admin',
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
    access: 'admin',
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
