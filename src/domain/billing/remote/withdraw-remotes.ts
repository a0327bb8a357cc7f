/** Our subscription is cancelled or has ended: what the vendor keeps for it must take no more money. */
import { cancelRemoteJob } from '../../../jobs/billing-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import type { Context } from '../../context.ts';
import { workOnCustomer, type BillingWork } from '../billing-work.ts';
import type { Subscription } from '../subscriptions/subscription.ts';
import { liveRemotes, type RemoteKey } from './remote-subscription-store.ts';

/** The jobs that cancel them at the vendor, in the transaction that changes ours. */
export async function withdrawRemotes(work: BillingWork, { customerId, id }: Subscription): Promise<void> {
  for (const remote of await liveRemotes(work.ctx.db, { customerId, subscriptionId: id }))
    await enqueueCancel(work, remote);
}

/** The job after a customer was disabled: it must not pay on for what it cannot use, nor could it cancel. Nothing when it is enabled again. */
export async function withdrawRemotesOf(ctx: Context, { customerId }: { customerId: bigint }): Promise<void> {
  await workOnCustomer({ ...ctx, viewer: null }, customerId, async (work) => {
    if (work.customer.status === 'active') return;
    for (const remote of await liveRemotes(work.ctx.db, { customerId })) await enqueueCancel(work, remote);
  });
}

export async function enqueueCancel({ ctx }: BillingWork, { customerId, id }: RemoteKey): Promise<void> {
  const payload = { customerId: String(customerId), remoteId: String(id) };
  await enqueue(ctx.db, cancelRemoteJob, payload, { key: `cancel-remote:${id}` });
}
