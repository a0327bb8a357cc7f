/** The job of a deleted customer. */
import { eraseCustomerJob } from '../../jobs/account-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { isDeleting } from '../accounts/customer-store.ts';
import { eraseCustomer } from '../accounts/erase-customer.ts';
import { closePayments } from '../billing/payments/close-payments.ts';
import type { Context } from '../context.ts';
import { pauseCustomerCampaigns } from './pause-customer-campaigns.ts';

/**
 * Pauses the customer's campaigns, so that nothing is sent meanwhile, closes its payments at the vendors, and erases it from the tables.
 * When the process has to stop before the end, another one continues. A customer that is not being deleted is not changed.
 */
export async function removeCustomer(
  ctx: Context,
  { customerId, abortSignal, isLastTry = false }: { customerId: bigint; abortSignal: AbortSignal; isLastTry?: boolean },
): Promise<void> {
  if (!(await isDeleting(ctx.db, customerId))) return;
  await pauseCustomerCampaigns(ctx, { customerId });
  await closePayments(ctx, { customerId, isLastTry });
  const isDone = await eraseCustomer(ctx, { customerId, isStopping: () => abortSignal.aborted });
  if (!isDone) await enqueue(ctx.db, eraseCustomerJob, { customerId: String(customerId) });
}
