/** What a vendor says about a subscription that it keeps becomes the state of ours: paid periods, its end. Under the customer's lock. */
import { recordEvent, type BillingWork } from '../billing-work.ts';
import { endSubscription } from '../end-subscription.ts';
import { findInvoice } from '../invoice-store.ts';
import { isOpen } from '../payment-intent.ts';
import { findPayment, writeReference } from '../payment-store.ts';
import { frequencyOfPlan } from '../plan.ts';
import { findSubscription, saveSubscription } from '../subscription-store.ts';
import { cancelled, type Subscription } from '../subscription.ts';
import { isPeriodPaid, newlyPaid, reaches } from './paid-periods.ts';
import { alignPeriod, keepAsCredit, payPeriod, type Applying, type FoundRemote } from './pay-remote-period.ts';
import { priceAtVendor } from './remote-price.ts';
import { remoteInForce } from './remote-in-force-read-model.ts';
import {
  countPaid,
  hasPaidSibling,
  noteRemote,
  reviveGone,
  writeRemote,
  type Remote,
} from './remote-subscription-store.ts';
import { planErrorOf } from './wanted-remote-plan.ts';
import { enqueueCancel } from './withdraw-remotes.ts';

const TEN_MINUTES_MS = 10 * 60_000;
const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

/** Writes it down and applies it; repeating it changes nothing. What does not fit changes nothing and is noted for the administrator. */
export async function applyRemote(
  work: BillingWork,
  { payment: key, remote }: FoundRemote,
): Promise<Remote | undefined> {
  const { db } = work.ctx;
  const payment = await findPayment(db, key);
  if (!payment || payment.gatewayId === null || payment.remotePlanId === null) return undefined;
  const { customerId, gatewayId } = payment;
  const invoice = await findInvoice(db, { customerId, id: payment.invoiceId });
  const subscription = invoice && (await findSubscription(db, { customerId, id: invoice.subscriptionId }));
  if (!invoice || !subscription) return undefined;
  await reviveGone(db, { customerId, gatewayId }, remote.id);
  const inForce = await remoteInForce(db, subscription);
  const isOurs = inForce?.intentUid === payment.uid && (inForce.remote?.remoteId ?? remote.id) === remote.id;
  const agreed = { agreedRemotePlanId: payment.remotePlanId, agreedPlanId: invoice.planId };
  const owner = { customerId, gatewayId, subscriptionId: subscription.id, intentUid: payment.uid, ...agreed };
  const row = await writeRemote(db, owner, { remote, at: work.at });
  if (isOpen(payment)) {
    // A process died between the vendor's answer and our record: from now on the payment is read by it.
    if (payment.reference === null) await writeReference(db, payment, { reference: remote.id, nextSyncAt: work.at });
    return finish(work, row, row.error);
  }
  const price = await priceAtVendor(db, { row, remote, subscription });
  const counts = isOurs && subscription.status === 'active';
  const mismatch = await applyPaid(work, { payment, remote, row, invoice, subscription, price }, counts);
  if (row.isEnded) await applyEnd(work, subscription, isOurs ? row : undefined);
  const isWithdrawn = !counts || work.customer.status !== 'active';
  if (!row.isEnded && isWithdrawn) await enqueueCancel(work, row);
  // While it is being cancelled, why that failed stays shown.
  const earlier = isWithdrawn ? row.error : await planErrorOf(db, row);
  return finish(work, row, mismatch ?? (row.isEnded ? null : earlier), isWithdrawn);
}

/** Undefined, or why the money does not pay the plan. */
async function applyPaid(work: BillingWork, applying: Applying, counts: boolean): Promise<string | undefined> {
  const { remote, row, payment, price } = applying;
  if (!isPeriodPaid(remote)) return undefined;
  const { plan, taken, mismatch } = price;
  const frequency = frequencyOfPlan(plan);
  const ends = newlyPaid(row, remote, { begunAt: remote.startedAt ?? payment.createdAt, frequency });
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
    else if (renews && !(await isPaidHere(work, applying, end))) await payPeriod(work, applying, end);
    else await keepAsCredit(work, applying, { money: taken });
    isFirst = false;
  }
  return counts ? mismatch : undefined;
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

/** It was ended at the vendor: ours runs to the end of what is paid. Undefined: it was not the one that pays ours, or its end is known. */
async function applyEnd(work: BillingWork, key: Subscription, row: Remote | undefined): Promise<void> {
  const { db } = work.ctx;
  const subscription = await findSubscription(db, key);
  if (row === undefined || subscription?.status !== 'active') return;
  const note = `Ended at the vendor (${row.status}).`;
  const { currentPeriodEndsAt: end, graceEndsAt } = subscription;
  if (graceEndsAt !== null || (end !== null && end <= work.at)) {
    await endSubscription(work, subscription, { event: 'ended', note });
    return;
  }
  const next = await saveSubscription(db, cancelled(subscription), work.at);
  await recordEvent(work, next, { event: 'cancelled', note });
}

/**
 * Read again by itself: soon while money is due, else once a day; the vendor's list is read more often. While it is being cancelled, once an hour:
 * each reading begins the tries of that job anew.
 */
async function finish(
  { ctx, at }: BillingWork,
  row: Remote,
  error: string | null,
  isWithdrawn = false,
): Promise<Remote> {
  const isDue = row.periodEndsAt === null || row.paidUntil === null || row.paidUntil <= at;
  const pause = isWithdrawn ? HOUR_MS : isDue ? TEN_MINUTES_MS : DAY_MS;
  const nextSyncAt = row.isEnded ? null : new Date(at.getTime() + pause);
  await noteRemote(ctx.db, row, { error, nextSyncAt });
  return { ...row, error };
}
