/** Ends a subscription, for whatever reason, and tells those who listen. */
import { recordEvent, type BillingWork, type HistoryEvent } from './billing-work.ts';
import { planById } from './plan-store.ts';
import { saveSubscription } from './subscription-store.ts';
import { ended, isRunning, type Subscription } from './subscription.ts';
import { voidPendingInvoice } from './write-invoice.ts';

export interface Ending {
  readonly event: Extract<HistoryEvent, 'ended' | 'terminated'>;
  readonly note: string | null;
  /** The moment it is over; now, unless it was over before anybody looked. */
  readonly at?: Date;
  /** Another subscription takes its place: then the plan changes, and nothing is told of an end. */
  readonly isReplaced?: boolean;
}

/** Ends it; what it has to pay becomes void, claimed or not. Fires `subscription_terminated` after the commit. */
export async function endSubscription(
  work: BillingWork,
  subscription: Subscription,
  { event, note, at = work.at, isReplaced = false }: Ending,
): Promise<Subscription> {
  const { ctx, customer } = work;
  await voidPendingInvoice(work, subscription, { evenIfClaimed: true });
  const over = await saveSubscription(ctx.db, ended(subscription, at), work.at);
  await recordEvent(work, over, { event, note });
  if (!isRunning(subscription) || isReplaced) return over;
  const { uid: planUid } = await planById(ctx.db, subscription.planId);
  ctx.tx.afterCommit(() =>
    ctx.hooks.fire('subscription_terminated', { uid: subscription.uid, customerUid: customer.uid, planUid }),
  );
  return over;
}
