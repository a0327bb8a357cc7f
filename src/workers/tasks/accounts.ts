/** Jobs of customers: erasing deleted ones, pausing what disabled ones have under way, sweeping what has ended. */
import { eraseCustomerJob, pauseCustomerCampaignsJob, sweepAccountsJob } from '../../jobs/account-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { eraseCustomer, isDeleting } from '../../domain/accounts/erase-customer.ts';
import { sweepAccounts } from '../../domain/accounts/sweep-accounts.ts';
import { pauseCustomerCampaigns } from '../../domain/campaigns/pause-customer-campaigns.ts';
import type { Context } from '../../domain/context.ts';
import { defineTask, type Task } from '../task.ts';

/** Erases what a room keeps of a customer outside the tables, such as files; harmless to repeat. */
export type Eraser = (ctx: Context, customer: { customerId: bigint }) => Promise<void>;

/** Campaigns first, so that nothing is sent meanwhile; then what lies outside the tables; then the tables. */
export function eraseCustomerTask(erasers: readonly Eraser[]): Task {
  return defineTask(eraseCustomerJob, async (ctx, { customerId }, { abortSignal }) => {
    if (!(await isDeleting(ctx.db, customerId))) return;
    await pauseCustomerCampaigns(ctx, { customerId });
    for (const erase of erasers) await erase(ctx, { customerId });
    const isDone = await eraseCustomer(ctx, { customerId, isStopping: () => abortSignal.aborted });
    // Another process, or this one after its restart, goes on where this one stopped.
    if (!isDone) await enqueue(ctx.db, eraseCustomerJob, { customerId: String(customerId) });
  });
}

export const pauseCustomerCampaignsTask = defineTask(pauseCustomerCampaignsJob, (ctx, { customerId }) =>
  pauseCustomerCampaigns(ctx, { customerId }),
);

export const sweepAccountsTask = defineTask(sweepAccountsJob, (ctx) => sweepAccounts(ctx));
