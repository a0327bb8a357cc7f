/** The errors of plans, subscriptions, invoices and payments, by code. */
import {
  ForeignResourceError,
  NotFoundError,
  RateLimitedError,
  ValidationError,
  WrongStateError,
} from '../../lib/errors.ts';

const NO_PLAN = ['PLAN_NOT_FOUND', 'No plan has this uid.'] as const;
export const planNotFound = () => new NotFoundError(...NO_PLAN);
export const planNotActive = () =>
  new ValidationError({ planUid: ['This plan is archived: no other customer can get it.'] }, 'PLAN_NOT_ACTIVE');
export const planInUse = (subscriptions: number) =>
  new WrongStateError(
    'PLAN_IN_USE',
    `${subscriptions === 1 ? 'A subscription uses' : `${subscriptions} subscriptions use`} this plan. Archive it instead (status inactive).`,
  );
export const currencyInUse = () =>
  new ValidationError(
    { currencyCode: ['Subscriptions use this plan: its currency cannot be changed.'] },
    'PLAN_CURRENCY_FIXED',
  );
export const tooManyPlans = (max: number) =>
  new ValidationError({ name: [`There may not be more than ${max} plans.`] }, 'TOO_MANY_PLANS');

const NO_SUBSCRIPTION = ['SUBSCRIPTION_NOT_FOUND', 'No subscription has this uid.'] as const;
export const subscriptionNotFound = () => new NotFoundError(...NO_SUBSCRIPTION);
export const foreignSubscription = () => new ForeignResourceError(...NO_SUBSCRIPTION);
export const noSubscription = () =>
  new WrongStateError('NO_SUBSCRIPTION', 'This customer has no subscription that is running or waits for payment.');
export const wrongSubscriptionState = (status: string, act: string) =>
  new WrongStateError('SUBSCRIPTION_STATE', `A subscription that is ${status} cannot be ${act}.`);
export const planUnchanged = () =>
  new WrongStateError('PLAN_UNCHANGED', 'The customer has this plan already; choose another one.');

const NO_CUSTOMER = ['CUSTOMER_NOT_FOUND', 'No customer has this uid.'] as const;
export const customerNotFound = () => new NotFoundError(...NO_CUSTOMER);
export const foreignCustomer = () => new ForeignResourceError(...NO_CUSTOMER);

const NO_INVOICE = ['INVOICE_NOT_FOUND', 'No invoice has this uid.'] as const;
export const invoiceNotFound = () => new NotFoundError(...NO_INVOICE);
export const foreignInvoice = () => new ForeignResourceError(...NO_INVOICE);
export const invoiceNotPending = (status: string) =>
  new WrongStateError('INVOICE_NOT_PENDING', `This invoice is ${status}: there is nothing to pay.`);

const NO_METHOD = ['PAYMENT_METHOD_NOT_FOUND', 'No saved payment method has this uid.'] as const;
export const methodNotFound = () => new NotFoundError(...NO_METHOD);
export const foreignMethod = () => new ForeignResourceError(...NO_METHOD);

export const paymentNotFound = () => new NotFoundError('PAYMENT_NOT_FOUND', 'No payment has this uid.');
export const paymentDecided = (status: string) =>
  new WrongStateError('PAYMENT_DECIDED', `This payment is ${status}: it was approved or rejected before.`);
/** A payment was claimed: nothing may happen to the invoice before an administrator's decision. */
export const paymentAwaitsApproval = () =>
  new WrongStateError(
    'PAYMENT_AWAITS_APPROVAL',
    'A payment of this customer waits for an administrator to approve or reject it. Until then nothing else can change.',
  );
/** A saved payment method is being charged, or a bank debit is under way: nothing may take its place meanwhile. */
export const paymentInProgress = () =>
  new WrongStateError(
    'PAYMENT_IN_PROGRESS',
    'A payment of this invoice is under way at its vendor. Wait until it has succeeded or failed, then look at the invoice again: a card takes minutes, a bank debit days.',
  );
export const vendorDecides = (method: string) =>
  new WrongStateError(
    'PAYMENT_NOT_OFFLINE',
    `This payment is made through "${method}": its state is read from there. Nobody approves or rejects it.`,
  );
export const offlineNotOffered = () =>
  new WrongStateError(
    'OFFLINE_NOT_OFFERED',
    'This invoice cannot be paid by transfer. Its checkout page shows how to pay it.',
  );
export const tooManyPayments = (max: number) =>
  new WrongStateError(
    'TOO_MANY_PAYMENTS',
    `Paying this invoice was begun ${max} times. Ask the operator of this service.`,
  );
export const justDeclined = (retryAfterSeconds: number) =>
  new RateLimitedError(
    'PAYMENT_JUST_DECLINED',
    'The saved payment method was declined a moment ago. Try again in some minutes, or use the checkout of the invoice.',
    retryAfterSeconds,
  );
export const onHold = () =>
  new WrongStateError(
    'INSTALLATION_ON_HOLD',
    'This installation is a restored backup and on hold: nothing is charged until an administrator ends the hold.',
  );
export const tooManyClaims = (max: number) =>
  new WrongStateError('TOO_MANY_CLAIMS', `A payment of this invoice was claimed and rejected ${max} times.`);
export const tooManyChanges = (retryAfterSeconds: number) =>
  new RateLimitedError('TOO_MANY_PLAN_CHANGES', 'Too many changes of plan; try again later.', retryAfterSeconds);

export const onlyAdministratorsKeep = () =>
  new ValidationError({ keepOverrides: ['Only an administrator may keep the own end and options of a subscription.'] });
