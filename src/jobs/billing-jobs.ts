/** Jobs of plans and money. */
import { z } from 'zod';
import { defineJob } from './define-job.ts';

/** Processes every subscription that is due: renewals, ends. What failed is repeated at the next scheduled run. */
export const renewSubscriptionsJob = defineJob({
  name: 'billing.renew-subscriptions',
  payload: z.looseObject({}),
  attemptsMax: 1,
});

/** Asks the vendors about all payments that are due. What failed is asked again later. */
export const syncPaymentsJob = defineJob({
  name: 'billing.sync-payments',
  payload: z.looseObject({}),
  attemptsMax: 1,
});

/** Makes a cancelled payment unpayable at its vendor. The queue's delays grow: ten tries are half a day. */
export const cancelIntentJob = defineJob({
  name: 'billing.cancel-intent',
  payload: z.looseObject({ customerId: z.string(), intentUid: z.string() }),
  attemptsMax: 10,
});

/** Charges a saved payment method for an invoice. After the last try the payment stays open, and the customer can pay on the page. */
export const chargeIntentJob = defineJob({
  name: 'billing.charge-intent',
  payload: z.looseObject({ customerId: z.string(), intentUid: z.string() }),
  attemptsMax: 10,
});

/** Charges saved methods again whose time has come after a decline. What failed is repeated at the next scheduled run. */
export const retryChargesJob = defineJob({
  name: 'billing.retry-charges',
  payload: z.looseObject({}),
  attemptsMax: 1,
});

/** Writes to a customer that its saved method was declined, or that the bank wants a confirmation. Ten tries are half a day. */
export const paymentMailJob = defineJob({
  name: 'billing.payment-mail',
  payload: z.looseObject({ customerId: z.string(), intentUid: z.string() }),
  attemptsMax: 10,
});

const ofRemote = z.looseObject({ customerId: z.string(), remoteId: z.string() });

/** Begins a subscription at a vendor with a saved payment method. Its tries end before vendors forget its idempotency key. */
export const createRemoteJob = defineJob({
  name: 'billing.create-remote-subscription',
  payload: z.looseObject({ customerId: z.string(), intentUid: z.string() }),
  attemptsMax: 10,
});

/** Cancels a subscription at its vendor. After the last try the sync enqueues it again, and the administrator sees why it failed. */
export const cancelRemoteJob = defineJob({
  name: 'billing.cancel-remote-subscription',
  payload: ofRemote,
  attemptsMax: 10,
});

/** Begins to cancel at the vendors what they keep of a customer that was disabled. */
export const withdrawRemotesJob = defineJob({
  name: 'billing.withdraw-remotes-of-customer',
  payload: z.looseObject({ customerId: z.string() }),
  attemptsMax: 10,
});

/** Tells the vendor to change the plan of a subscription. After the last try the administrator sees why it failed. */
export const changeRemotePlanJob = defineJob({
  name: 'billing.change-remote-plan',
  payload: ofRemote,
  attemptsMax: 10,
});

/** Deletes a saved payment method at its vendor. Ten tries are half a day. */
export const removeMethodJob = defineJob({
  name: 'billing.remove-method',
  payload: z.looseObject({ customerId: z.string(), methodUid: z.string() }),
  attemptsMax: 10,
});

/** Closes at the vendor what is left of a payment gateway, then deletes it. Ten tries are half a day. */
export const closeGatewayJob = defineJob({
  name: 'billing.close-gateway',
  payload: z.looseObject({ gatewayUid: z.string() }),
  attemptsMax: 10,
});
