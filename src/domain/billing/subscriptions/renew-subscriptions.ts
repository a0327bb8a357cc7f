/**
 * The scheduled work on subscriptions: periods end and begin, renewals get invoices, cancelled and unpaid subscriptions end. Each
 * subscription is processed in its own transaction and only up to now, so a run that is killed, repeated or late changes nothing
 * twice: missed periods are processed one by one, each invoiced once.
 */
import { messageOf } from '../../../lib/errors.ts';
import type { Context } from '../../context.ts';
import { askVendors, ASK_LIMITS, type AskLimits } from '../payments/ask-vendors.ts';
import { billRenewal } from './bill-renewal.ts';
import { recordEvent, workOnCustomer, type BillingWork } from '../billing-work.ts';
import { endSubscription } from './end-subscription.ts';
import { findPendingInvoice } from '../invoices/invoice-store.ts';
import { chargeSavedMethod } from '../saved-methods/charge-saved-method.ts';
import { isCharging } from '../payments/end-open-try.ts';
import { findOpenPayment } from '../payments/payment-store.ts';
import { planById } from '../plans/plan-store.ts';
import { readBeforeEnd, waitsForVendors } from './read-before-end.ts';
import { leaveToVendor } from '../remote/leave-to-vendor.ts';
import { remoteInForce } from '../remote/remote-in-force-read-model.ts';
import { settleInvoice } from '../invoices/settle-invoice.ts';
import { findDue, findSubscription, saveSubscription } from './subscription-store.ts';
import { nextStepAt, renewed, type Subscription } from './subscription.ts';
import { voidInvoice } from '../invoices/write-invoice.ts';

const DUE_AT_ONCE_MAX = 100;
/** Periods per transaction: more than a year of days. The next run continues. */
const STEPS_MAX = 500;
const DAY_MS = 24 * 60 * 60 * 1000;

type Key = Pick<Subscription, 'customerId' | 'id'>;

/**
 * Processes every due subscription; returns how many were changed and how many failed (logged). Those of which a vendor has to say something first
 * come last, so that no vendor keeps up the others.
 */
export async function renewSubscriptions(
  ctx: Context,
  limits: AskLimits = ASK_LIMITS,
): Promise<{ moved: number; failed: number }> {
  const at = ctx.clock.now();
  const counts = { moved: 0, failed: 0 };
  const move = (mayAsk: boolean) => async (key: Key) => {
    try {
      if ((await moveSubscription(ctx, key, mayAsk)) > 0) counts.moved += 1;
    } catch (error) {
      // One that fails must not stop the others.
      counts.failed += 1;
      ctx.log.error('billing.renewal_failed', { subscription: String(key.id), message: messageOf(error) });
    }
  };
  let after: { at: Date; id: bigint } | null = null;
  for (;;) {
    const due: Awaited<ReturnType<typeof findDue>> = await findDue(ctx.db, { at, after, max: DUE_AT_ONCE_MAX });
    for (const key of due) await move(false)(key);
    const last = due.at(-1);
    if (!last || due.length < DUE_AT_ONCE_MAX) break;
    after = { at: last.nextStepAt, id: last.id };
  }
  await askVendors(ctx, limits, move(true));
  if (counts.moved + counts.failed > 0) ctx.log.info('billing.subscriptions_moved', counts);
  return counts;
}

/** Processes one subscription up to now; returns the number of steps. */
async function moveSubscription(ctx: Context, key: Key, mayAsk: boolean): Promise<number> {
  if (!(await readBeforeEnd({ ...ctx, viewer: null }, key, mayAsk))) return 0;
  return workOnCustomer(ctx, key.customerId, async (work) => {
    let steps = 0;
    let subscription = await findSubscription(work.ctx.db, key);
    while (subscription && isDue(subscription, work.at) && steps < STEPS_MAX) {
      if (!(await step(work, subscription))) break;
      steps += 1;
      subscription = await findSubscription(work.ctx.db, key);
    }
    return steps;
  });
}

function isDue(subscription: Subscription, at: Date): boolean {
  const due = nextStepAt(subscription);
  return due !== null && due <= at;
}

/** One step of a due subscription; false when it has to wait for a decision. */
async function step(work: BillingWork, subscription: Subscription): Promise<boolean> {
  const { db } = work.ctx;
  const { status, endsAt, currentPeriodEndsAt, graceEndsAt } = subscription;
  const invoice = await findPendingInvoice(db, subscription);
  const open = invoice && (await findOpenPayment(db, invoice));
  // A customer who claims to have paid keeps the plan until an administrator's decision; one whose card is being charged, until the vendor
  // has answered. A checkout that was begun and left does not count.
  if (open && (open.status === 'AWAITING_ADMIN_APPROVAL' || isCharging(open))) return false;
  if (await waitsForVendors(work, subscription)) return false;
  const remote = status === 'active' ? (await remoteInForce(db, subscription))?.remote : undefined;
  if (endsAt && endsAt <= work.at && (!currentPeriodEndsAt || endsAt <= currentPeriodEndsAt || graceEndsAt))
    return end(work, subscription, { note: status === 'cancelled' ? 'Cancelled.' : 'Its end was set.', at: endsAt });
  if (status === 'pending') return end(work, subscription, { note: 'Never paid.', at: work.at });
  if (graceEndsAt) return end(work, subscription, { note: 'The renewal was not paid.', at: graceEndsAt });
  if (status === 'cancelled')
    return end(work, subscription, { note: 'Cancelled.', at: currentPeriodEndsAt ?? work.at });
  if (remote) return leaveToVendor(work, subscription, remote);
  if (invoice) await voidInvoice(work, invoice);
  return renew(work, subscription);
}

async function end(
  work: BillingWork,
  subscription: Subscription,
  { note, at }: { note: string; at: Date },
): Promise<boolean> {
  await endSubscription(work, subscription, { event: 'ended', note, at });
  return true;
}

/** The next period: at once when it is free or paid by credit, else when its invoice is paid. */
async function renew(work: BillingWork, subscription: Subscription): Promise<boolean> {
  const { ctx, at } = work;
  const plan = await planById(ctx.db, subscription.planId);
  if (subscription.disableBilling || plan.priceMinor === 0n) {
    const next = await saveSubscription(ctx.db, renewed(subscription, plan, null), at);
    await recordEvent(work, next, { event: 'renewed' });
    return true;
  }
  // Counted from now: before the invoice was written, nobody could pay it.
  const graceEndsAt = new Date(at.getTime() + ctx.installation.limits.billingGraceDays * DAY_MS);
  const invoice = await billRenewal(work, subscription, { plan, dueAt: graceEndsAt });
  if (invoice.totalMinor === 0n) return settleInvoice(work, invoice);
  await saveSubscription(ctx.db, { ...subscription, graceEndsAt }, at);
  await chargeSavedMethod(work, invoice);
  return true;
}
