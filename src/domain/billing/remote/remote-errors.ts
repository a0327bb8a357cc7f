/** The errors of subscriptions that vendors keep, by code. */
import { ValidationError, WrongStateError } from '../../../lib/errors.ts';

export const keepsNoSubscriptions = () =>
  new ValidationError(
    { gatewayUid: ['The vendor of this payment gateway keeps no subscriptions: its customers pay each invoice.'] },
    'REMOTE_SUBSCRIPTIONS_UNSUPPORTED',
  );
/** The vendor, or the plugin, could not be asked. */
export const vendorFailed = (reason: string) =>
  new WrongStateError('PAYMENT_GATEWAY_FAILED', `The vendor could not be asked. ${reason}`);

export const unknownRemotePlan = () =>
  new ValidationError(
    { remotePlanId: ['The vendor has no such plan that is active. `remotePlans` lists those that it has.'] },
    'REMOTE_PLAN_UNKNOWN',
  );
export const remotePlanDiffers = (differences: readonly string[]) =>
  new ValidationError({ remotePlanId: [...differences] }, 'REMOTE_PLAN_DIFFERS');
export const remotePlanTaken = (name: string) =>
  new ValidationError(
    { remotePlanId: [`This plan of the vendor is linked with the plan "${name}". Unlink that one first.`] },
    'REMOTE_PLAN_TAKEN',
  );
export const remotePlanNotLinked = () =>
  new WrongStateError('REMOTE_PLAN_NOT_LINKED', 'The plan is not linked with a plan of this payment gateway.');

/** Its price, currency and period are those of the vendor's plan. */
export const planIsLinked = () =>
  new WrongStateError(
    'REMOTE_PLAN_LINKED',
    'A vendor takes the price of this plan: price, currency and period cannot change while it is linked. Unlink it first, then link a plan of the vendor with the new price. Subscriptions that the vendor keeps go on at the old price.',
  );

/** The invoice cannot begin a subscription at the vendor; `reason` says why. */
export const notRemote = (reason: string) => new WrongStateError('REMOTE_SUBSCRIPTION_NOT_POSSIBLE', reason);
export const noSavedMethod = () =>
  new WrongStateError(
    'PAYMENT_METHOD_MISSING',
    'The customer has saved no payment method with this gateway. Use the checkout of the invoice.',
  );

const VENDOR_KEEPS = 'The subscription is kept by the vendor of a payment gateway.';
export const newPlanNotLinked = (name: string) =>
  new WrongStateError(
    'REMOTE_PLAN_NOT_LINKED',
    `${VENDOR_KEEPS} The plan "${name}" is not linked with a plan of that vendor. Cancel the subscription, and choose the plan when it has ended.`,
  );
export const newPeriodDiffers = (name: string) =>
  new WrongStateError(
    'REMOTE_PERIOD_DIFFERS',
    `${VENDOR_KEEPS} The plan "${name}" has a period of another length or another currency, which the vendor cannot change to. Cancel the subscription, and choose the plan when it has ended.`,
  );
export const periodIsTheVendors = () =>
  new WrongStateError(
    'REMOTE_PERIOD_KEPT',
    `${VENDOR_KEEPS} The vendor decides when its periods end, and each paid one would undo this change. Give the customer time at the vendor: its period is taken over here. Or cancel the subscription here, which cancels it at the vendor, and set the period then.`,
  );
export const remoteNotKnownYet = () =>
  new WrongStateError(
    'REMOTE_SUBSCRIPTION_NOT_KNOWN',
    'The vendor of the payment gateway has not shown this subscription yet. Try again in some minutes.',
  );

/** How the errors begin that stay on a vendor's subscription until its plan is the wanted one. */
export const PLAN_NOT_CHANGED = 'The vendor has not changed the plan';
