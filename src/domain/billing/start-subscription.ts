/** Starts a subscription, which replaces the running one. */
import { recordEvent, type BillingWork } from './billing-work.ts';
import { endSubscription } from './end-subscription.ts';
import type { Money } from './money.ts';
import { planById } from './plan-store.ts';
import type { Plan } from './plan.ts';
import { findRunning, saveSubscription } from './subscription-store.ts';
import { started, type Subscription } from './subscription.ts';

export interface Start {
  readonly plan: Plan;
  /** The price paid for its first period; null: it is free. */
  readonly paid: Money | null;
  readonly invoiceUid?: string;
  readonly note?: string;
}

/** Starts a pending subscription now. Fires `plan_changed` after the commit. */
export async function startSubscription(
  work: BillingWork,
  subscription: Subscription,
  { plan, paid, invoiceUid, note }: Start,
): Promise<Subscription> {
  const { db } = work.ctx;
  const before = await findRunning(db, work.customer.id);
  if (before) {
    const ending = { event: 'ended', note: `Replaced by ${plan.name}.`, isReplaced: true } as const;
    await endSubscription(work, before, ending);
  }
  const running = await saveSubscription(db, started(subscription, plan, { at: work.at, paid }), work.at);
  const history = { event: 'started', amount: paid, invoiceUid: invoiceUid ?? null, note: note ?? null } as const;
  await recordEvent(work, running, history);
  const old = before && (await planById(db, before.planId));
  if (old?.id !== plan.id) announcePlanChange(work, running, { from: old, to: plan });
  return running;
}

/** Notifies listeners after the commit. */
export function announcePlanChange(
  { ctx, customer }: BillingWork,
  subscription: Subscription,
  { from, to }: { from: Plan | undefined; to: Plan },
): void {
  const change = {
    customerUid: customer.uid,
    subscriptionUid: subscription.uid,
    oldPlanUid: from?.uid ?? null,
    newPlanUid: to.uid,
  };
  ctx.tx.afterCommit(() => ctx.hooks.fire('plan_changed', change));
}
