/** The errors of webhooks, by code. */
import {
  ForeignResourceError,
  NotFoundError,
  RateLimitedError,
  ValidationError,
  WrongStateError,
} from '../../lib/errors.ts';

const NO_WEBHOOK = ['WEBHOOK_NOT_FOUND', 'No webhook has this uid.'] as const;
export const webhookNotFound = () => new NotFoundError(...NO_WEBHOOK);
/** With the same text as the error above, so that the webhook is not revealed. */
export const foreignWebhook = () => new ForeignResourceError(...NO_WEBHOOK);

export const noCampaignForWebhook = () =>
  new NotFoundError('CAMPAIGN_NOT_FOUND', 'You have no campaign with this uid.');

/** By field. */
export const wrongWebhookScope = (faults: Readonly<Record<string, string[]>>) =>
  new ValidationError(faults, 'WEBHOOK_SCOPE_REFUSED');

export const webhookDeliveryNotFound = () =>
  new NotFoundError('WEBHOOK_DELIVERY_NOT_FOUND', 'No delivery of this webhook has this uid.');

export const tooManyWebhooks = (max: number) =>
  new ValidationError(
    { name: [`There may not be more than ${max} webhooks: delete one that you do not use.`] },
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
