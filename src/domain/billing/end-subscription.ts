/** Ends a subscription, for any reason, and tells plugins (hook `subscription_terminated`). */
import { recordEvent, type BillingWork, type HistoryEvent } from './billing-work.ts';
import { planById } from './plan-store.ts';
import { saveSubscription } from './subscription-store.ts';
import { ended, isRunning, type Subscription } from './subscription.ts';
import { voidPendingInvoice } from './write-invoice.ts';

export interface Ending {
  readonly event: Extract<HistoryEvent, 'ended' | 'terminated'>;
  readonly note: string | null;
  /** When it ended; now, unless its end was earlier. */
  readonly at?: Date;
  /** Another subscription replaces it: the customer only gets another plan, so the hook is not fired. */
  readonly isReplaced?: boolean;
}

/**
 * Ends it; its open invoice becomes void, even if payment was claimed. Fires `subscription_terminated` after the commit, unless the
 * subscription was not running or is replaced.
 */
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
