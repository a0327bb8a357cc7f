/** The errors of webhooks, by code. */
import { NotFoundError, RateLimitedError, ValidationError, WrongStateError } from '../../lib/errors.ts';
import { WEBHOOKS_PER_CUSTOMER_MAX } from './webhook.ts';

export const webhookNotFound = () => new NotFoundError('WEBHOOK_NOT_FOUND', 'No webhook has this uid.');

export const webhookDeliveryNotFound = () =>
  new NotFoundError('WEBHOOK_DELIVERY_NOT_FOUND', 'No delivery of this webhook has this uid.');

export const tooManyWebhooks = () =>
  new ValidationError(
    { name: [`There may not be more than ${WEBHOOKS_PER_CUSTOMER_MAX} webhooks.`] },
    'TOO_MANY_WEBHOOKS',
  );

export const wrongWebhookUrl = (reason: string) => new ValidationError({ url: [reason] }, 'WEBHOOK_URL_REFUSED');

export const wrongBodyTemplate = (reasons: readonly string[]) =>
  new ValidationError({ bodyTemplate: reasons }, 'WEBHOOK_TEMPLATE_FAULT');

export const webhookNotActive = (status: string) =>
  new WrongStateError('WEBHOOK_NOT_ACTIVE', `This webhook is ${status}: nothing is sent. Make it active first.`);

export const deliveryWaits = () =>
  new WrongStateError('WEBHOOK_DELIVERY_WAITS', 'This delivery waits to be sent: it needs no resend.');

export const tooManyWebhookTests = (max: number, waitSeconds: number) =>
  new RateLimitedError('TOO_MANY_TESTS', `A customer may test webhooks ${max} times in an hour.`, waitSeconds);
