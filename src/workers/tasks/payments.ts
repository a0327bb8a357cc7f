/** The jobs of payments through gateways. */
import { cancelIntent } from '../../domain/billing/cancel-intent.ts';
import { chargeIntent } from '../../domain/billing/charge-intent.ts';
import { retryCharges } from '../../domain/billing/retry-charges.ts';
import { syncPayments } from '../../domain/billing/sync-payments.ts';
import { cancelIntentJob, chargeIntentJob, retryChargesJob, syncPaymentsJob } from '../../jobs/billing-jobs.ts';
import { defineTask } from '../task.ts';

export const paymentTasks = [
  defineTask(syncPaymentsJob, syncPayments),
  defineTask(cancelIntentJob, cancelIntent),
  defineTask(chargeIntentJob, chargeIntent),
  defineTask(retryChargesJob, retryCharges),
];
