/** Starts a subscription, which replaces the running one. */
import { recordEvents } from '../../../events/event-store.ts';
import { recordEvent, type BillingWork } from '../billing-work.ts';
import { endSubscription } from './end-subscription.ts';
import type { Money } from '../money.ts';
import { planById } from '../plans/plan-store.ts';
import type { Plan } from '../plans/plan.ts';
import { findRunning, saveSubscription } from './subscription-store.ts';
import { started, type Subscription } from './subscription.ts';

export interface Start {
  readonly plan: Plan;
  /** The price paid for its first period; null: it is free. */
  readonly paid: Money | null;
  readonly invoiceUid?: string;
  readonly note?: string;
}

/** Starts a pending subscription now. */
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
  if (old?.id !== plan.id) await recordPlanChange(work, running, { from: old, to: plan });
  return running;
}

/** Records that the customer's plan is another one now. */
export async function recordPlanChange(
  { ctx, customer }: BillingWork,
  { customerId, uid: objectUid }: Subscription,
  { from, to }: { from: Plan | undefined; to: Plan },
): Promise<void> {
  const data = { customerUid: customer.uid, oldPlanUid: from?.uid ?? null, newPlanUid: to.uid };
  await recordEvents(ctx.db, [{ kind: 'subscription_plan_changed', customerId, objectUid, data }]);
}
