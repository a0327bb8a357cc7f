/** Which periods of a vendor's subscription are counted now, and what becomes of the money of each: the vendor may have got none for some. */
import type { BillingWork } from '../billing-work.ts';
import { frequencyOfPlan } from '../plans/plan.ts';
import { findSubscription } from '../subscriptions/subscription-store.ts';
import { noteUnpaidPeriod } from './late-periods.ts';
import { isPeriodPaid, newlyPaid, periodAt, reaches } from './paid-periods.ts';
import { alignPeriod, keepAsCredit, payPeriod, skipPeriod, type Applying } from './pay-remote-period.ts';
import { priceAtVendor } from './remote-price.ts';
import { countPaid, hasPaidSibling } from './remote-subscription-store.ts';

/** Undefined, or why the money does not pay the plan. */
export async function applyPaid(
  work: BillingWork,
  { applying, ends }: { readonly applying: Applying; readonly ends: readonly Date[] },
  counts: boolean,
): Promise<string | undefined> {
  const { remote, row, payment, price } = applying;
  if (!isPeriodPaid(remote)) return undefined;
  const { taken, mismatch } = price;
  if (mismatch !== undefined && ends.length > 0)
    work.ctx.log.error('billing.remote_mismatch', { remote: remote.id, message: mismatch });
  if (taken === undefined) return mismatch;
  // A second one of the same payment has taken its own money.
  let isFirst = row.paidUntil === null && !(await hasPaidSibling(work.ctx.db, row));
  const renews = counts && mismatch === undefined;
  for (const end of ends) {
    if (!(await countPaid(work.ctx.db, row, end))) continue;
    if (isSamePeriod(applying, end)) {
      if (renews) await extend(work, applying, end);
      continue;
    }
    // The payment that began it has paid the first one, or brings its own late money when its object is read.
    if (isFirst && payment.reference !== null) await alignPeriod(work, applying, renews ? end : null);
    else await applyPeriod(work, await atPeriod(work, applying, end), { end, counts });
    isFirst = false;
  }
  return counts ? mismatch : undefined;
}

/** The ends of the periods to be counted now. */
export function endsOf(applying: Applying): readonly Date[] {
  const { row, remote, price } = applying;
  if (!isPeriodPaid(remote) || price.taken === undefined) return [];
  return newlyPaid(row, remote, { begunAt: begunAt(applying), frequency: frequencyOfPlan(price.plan) });
}

export function begunAt({ remote, payment }: Applying): Date {
  return remote.startedAt ?? payment.createdAt;
}

/** With the money of the period that ends then; its price is undefined if nothing was paid for it. */
async function atPeriod(
  { ctx: { db } }: BillingWork,
  applying: Applying,
  end: Date,
): Promise<Applying & { readonly isUnpaid: boolean }> {
  const { remote, row, price, periods } = applying;
  if (end.getTime() === remote.currentPeriodEndsAt?.getTime() || !periods) return { ...applying, isUnpaid: false };
  const periodPayment = periodAt(periods, end, frequencyOfPlan(price.plan))?.payment ?? null;
  if (periodPayment === null) return { ...applying, isUnpaid: true };
  const subscription = (await findSubscription(db, applying.subscription)) ?? applying.subscription;
  const ofThen = await priceAtVendor(db, { row, remote: { ...remote, periodPayment }, subscription });
  return { ...applying, subscription, price: ofThen, isUnpaid: false };
}

async function applyPeriod(
  work: BillingWork,
  applying: Applying & { readonly isUnpaid: boolean },
  { end, counts }: { readonly end: Date; readonly counts: boolean },
): Promise<void> {
  const { taken, refundedMinor, mismatch } = applying.price;
  const isPaidElsewhere = counts && (await isPaidHere(work, applying, end));
  if (applying.isUnpaid) {
    await noteUnpaidPeriod(work, applying.row, { end, frequency: frequencyOfPlan(applying.price.plan) });
    return counts && !isPaidElsewhere ? skipPeriod(work, applying, end) : undefined;
  }
  if (counts && mismatch === undefined && !isPaidElsewhere) await payPeriod(work, applying, end);
  else if (taken !== undefined)
    await keepAsCredit(work, applying, { money: { ...taken, minor: taken.minor - refundedMinor } });
}

/** Whether it is the period that was counted before, to which the vendor has given days. Money that does not fit, or pays another plan, is new. */
function isSamePeriod({ row, price: { plan, mismatch }, subscription }: Applying, end: Date): boolean {
  if (row.paidUntil === null || mismatch !== undefined || plan.id !== subscription.planId) return false;
  return reaches(row.paidUntil, end, frequencyOfPlan(plan));
}

/** Ours gets the days, too, if it is in the same period: no money was taken for them. */
async function extend(work: BillingWork, applying: Applying, end: Date): Promise<void> {
  const until = applying.subscription.currentPeriodEndsAt;
  if (until !== null && until < end && (await isPaidHere(work, applying, end))) await alignPeriod(work, applying, end);
}

/** Whether the period was paid in another way, as by an invoice while the vendor did not know the subscription. */
async function isPaidHere({ ctx }: BillingWork, { subscription, price }: Applying, end: Date): Promise<boolean> {
  const until = (await findSubscription(ctx.db, subscription))?.currentPeriodEndsAt ?? null;
  return until !== null && reaches(until, end, frequencyOfPlan(price.plan));
}
