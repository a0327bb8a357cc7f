/** Jobs of customers: erasing deleted ones, pausing what disabled ones have under way, sweeping what has ended. */
import {
  ERASE_DELETED_KEY,
  ERASE_FAILED_KEY,
  eraseCustomerJob,
  eraseDeletedJob,
  pauseCustomerCampaignsJob,
  sweepAccountsJob,
} from '../../jobs/account-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { eraseCustomer, isDeleting } from '../../domain/accounts/erase-customer.ts';
import { eraseDeleted, secondsUntilNextTry } from '../../domain/accounts/erase-deleted.ts';
import { sweepAccounts } from '../../domain/accounts/sweep-accounts.ts';
import { pauseCustomerCampaigns } from '../../domain/campaigns/pause-customer-campaigns.ts';
import type { Context } from '../../domain/context.ts';
import { defineTask, type Task } from '../task.ts';

/** Erases what a module keeps of a customer outside the tables, such as files; harmless to repeat. */
export type Eraser = (ctx: Context, customer: { customerId: bigint }) => Promise<void>;

/** Campaigns first, so that nothing is sent meanwhile; then data outside the tables; then the tables. */
export function eraseCustomerTask(erasers: readonly Eraser[]): Task {
  return defineTask(eraseCustomerJob, async (ctx, { customerId }, { abortSignal }) => {
    if (!(await isDeleting(ctx.db, customerId))) return;
    await pauseCustomerCampaigns(ctx, { customerId });
    for (const erase of erasers) await erase(ctx, { customerId });
    const isDone = await eraseCustomer(ctx, { customerId, isStopping: () => abortSignal.aborted });
    // Another process, or this one after its restart, continues where this one stopped.
    if (!isDone) await enqueue(ctx.db, eraseCustomerJob, { customerId: String(customerId) });
  });
}

export const eraseDeletedTask = defineTask(eraseDeletedJob, async (ctx, _payload, { abortSignal }) => {
  const isDone = await eraseDeleted(ctx, { isStopping: () => abortSignal.aborted });
  if (isDone) await tryFailedAgain(ctx);
  else await enqueue(ctx.db, eraseDeletedJob, {}, { key: ERASE_DELETED_KEY });
});

async function tryFailedAgain({ db }: Context): Promise<void> {
  const delaySeconds = await secondsUntilNextTry({ db });
  if (delaySeconds === undefined) return;
  await enqueue(db, eraseDeletedJob, {}, { key: ERASE_FAILED_KEY, delaySeconds });
}

export const pauseCustomerCampaignsTask = defineTask(pauseCustomerCampaignsJob, (ctx, { customerId }) =>
  pauseCustomerCampaigns(ctx, { customerId }),
);

export const sweepAccountsTask = defineTask(sweepAccountsJob, async (ctx) => {
  // Normally a deletion enqueues it; this is for what a job that failed for days has left.
  await tryFailedAgain(ctx);
  await sweepAccounts(ctx);
});
