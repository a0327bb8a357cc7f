/** Activating, resuming, cancelling and terminating a subscription (decision D36). Each is refused in a wrong state. */
import type { Context } from '../../context.ts';
import { wrongSubscriptionState } from '../billing-errors.ts';
import { requireAdministrator } from '../billing-rights.ts';
import { recordEvent, workOnSubscription, type BillingWork } from '../billing-work.ts';
import { endSubscription } from './end-subscription.ts';
import { planById } from '../plans/plan-store.ts';
import { withdrawRemotes } from '../remote/withdraw-remotes.ts';
import { startSubscription } from './start-subscription.ts';
import { saveSubscription } from './subscription-store.ts';
import { cancelled, renewed, resumed, type Subscription } from './subscription.ts';
import { voidPendingInvoice } from '../invoices/write-invoice.ts';

const WITHOUT_PAYMENT = 'By an administrator, without payment.';

/**
 * Lets a subscription run without payment: a pending one starts, one with a due renewal gets its next period, a cancelled one
 * continues. Throws WrongStateError `SUBSCRIPTION_STATE`, `PAYMENT_AWAITS_APPROVAL`; NotFoundError.
 */
export async function activateSubscription(ctx: Context, { uid }: { uid: string }): Promise<Subscription> {
  requireAdministrator(ctx);
  return workOnSubscription(ctx, uid, async (work, subscription) => {
    if (subscription.status === 'cancelled') return resume(work, subscription);
    const isDue = subscription.status === 'pending' || (subscription.status === 'active' && subscription.graceEndsAt);
    if (!isDue) throw wrongSubscriptionState(subscription.status, 'activated');
    await voidPendingInvoice(work, subscription);
    const plan = await planById(work.ctx.db, subscription.planId);
    if (subscription.status === 'pending')
      return startSubscription(work, subscription, { plan, paid: null, note: WITHOUT_PAYMENT });
    const next = await saveSubscription(work.ctx.db, renewed(subscription, plan, null), work.at);
    await recordEvent(work, next, { event: 'renewed', note: WITHOUT_PAYMENT });
    return next;
  });
}

/** Withdraws a cancellation. Throws WrongStateError `SUBSCRIPTION_STATE`; NotFoundError, ForeignResourceError. */
export async function resumeSubscription(ctx: Context, { uid }: { uid: string }): Promise<Subscription> {
  return workOnSubscription(ctx, uid, async (work, subscription) => {
    if (subscription.status !== 'cancelled') throw wrongSubscriptionState(subscription.status, 'resumed');
    return resume(work, subscription);
  });
}

/**
 * Lets a subscription run to the end of its period; one that waits for payment, or whose period is over, ends at once. Throws
 * WrongStateError `SUBSCRIPTION_STATE`, `PAYMENT_AWAITS_APPROVAL`; NotFoundError, ForeignResourceError.
 */
export async function cancelSubscription(ctx: Context, { uid }: { uid: string }): Promise<Subscription> {
  return workOnSubscription(ctx, uid, async (work, subscription) => {
    const { status, graceEndsAt, currentPeriodEndsAt } = subscription;
    if (status === 'cancelled' || status === 'ended') throw wrongSubscriptionState(status, 'cancelled');
    await voidPendingInvoice(work, subscription);
    const isOver = graceEndsAt !== null || (currentPeriodEndsAt !== null && currentPeriodEndsAt <= work.at);
    if (status === 'pending' || isOver)
      return endSubscription(work, subscription, { event: 'ended', note: 'Cancelled.' });
    const next = await saveSubscription(work.ctx.db, cancelled(subscription), work.at);
    await withdrawRemotes(work, next);
    await recordEvent(work, next, { event: 'cancelled' });
    return next;
  });
}

/** Ends a subscription at once. Throws WrongStateError `SUBSCRIPTION_STATE`; NotFoundError. */
export async function terminateSubscription(ctx: Context, { uid }: { uid: string }): Promise<Subscription> {
  requireAdministrator(ctx);
  return workOnSubscription(ctx, uid, async (work, subscription) => {
    if (subscription.status === 'ended') throw wrongSubscriptionState('ended', 'terminated');
    return endSubscription(work, subscription, { event: 'terminated', note: null });
  });
}

async function resume(work: BillingWork, subscription: Subscription): Promise<Subscription> {
  const { currentPeriodEndsAt } = subscription;
  // Its time is over, but the scheduled job has not run yet.
  if (currentPeriodEndsAt !== null && currentPeriodEndsAt <= work.at) throw wrongSubscriptionState('over', 'resumed');
  const next = await saveSubscription(work.ctx.db, resumed(subscription), work.at);
  await recordEvent(work, next, { event: 'resumed' });
  return next;
}
