/** What a vendor says about a subscription that it keeps becomes the state of ours: paid periods, its end. Under the customer's lock. */
import { recordEvent, type BillingWork } from '../billing-work.ts';
import { endSubscription } from '../subscriptions/end-subscription.ts';
import { findInvoice } from '../invoices/invoice-store.ts';
import { isOpen } from '../payments/payment-intent.ts';
import { findPayment, writeReference } from '../payments/payment-store.ts';
import { findSubscription, saveSubscription } from '../subscriptions/subscription-store.ts';
import { cancelled, type Subscription } from '../subscriptions/subscription.ts';
import { applyPaid, begunAt, endsOf } from './count-periods.ts';
import { awaitsPayment } from './late-periods.ts';
import type { FoundRemote } from './pay-remote-period.ts';
import { priceAtVendor } from './remote-price.ts';
import { remoteInForce } from './remote-in-force-read-model.ts';
import { noteRemote, reviveGone, writeRemote, type Remote, type RemoteOwner } from './remote-subscription-store.ts';
import { planErrorOf } from './wanted-remote-plan.ts';
import { enqueueCancel } from './withdraw-remotes.ts';

const TEN_MINUTES_MS = 10 * 60_000;
const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Periods were missed: what the vendor says about those that end after `since` must be read first. Thrown, so that nothing of the work stays: what is
 * written down as ended or as read is not looked at again, and money would be taken for a period that the vendor has been paid for.
 */
export class LacksPeriodsError extends Error {
  readonly since: Date;
  readonly owner: RemoteOwner;

  constructor(owner: RemoteOwner, since: Date) {
    super('Periods of the vendor must be read first.');
    this.owner = owner;
    this.since = since;
  }
}

/**
 * Writes it down and applies it; repeating it changes nothing. What does not fit changes nothing and is noted for the administrator. Undefined: it
 * belongs to nothing here. Throws LacksPeriodsError while `periods` were not read and several must be counted.
 */
export async function applyRemote(
  work: BillingWork,
  { payment: key, remote, periods }: FoundRemote,
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
  const applying = { payment, remote, row, invoice, subscription, price, periods };
  const ends = endsOf(applying);
  if (ends.length > 1 && periods === undefined) throw new LacksPeriodsError(owner, row.paidUntil ?? begunAt(applying));
  const mismatch = await applyPaid(work, { applying, ends }, counts);
  if (row.isEnded) await applyEnd(work, subscription, isOurs ? row : undefined);
  const isWithdrawn = !counts || work.customer.status !== 'active';
  if (!row.isEnded && isWithdrawn) await enqueueCancel(work, row);
  // While it is being cancelled, why that failed stays shown.
  const earlier = isWithdrawn ? row.error : await planErrorOf(db, row);
  return finish(work, row, mismatch ?? (row.isEnded ? null : earlier), isWithdrawn);
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
async function finish(work: BillingWork, row: Remote, error: string | null, isWithdrawn = false): Promise<Remote> {
  const { ctx, at } = work;
  const isDue = row.periodEndsAt === null || row.paidUntil === null || row.paidUntil <= at;
  const pause = isWithdrawn ? HOUR_MS : isDue ? TEN_MINUTES_MS : DAY_MS;
  // Of one that has ended, what was skipped as unpaid may still be paid.
  const isOver = row.isEnded && !(await awaitsPayment(work, row));
  const nextSyncAt = isOver ? null : new Date(at.getTime() + (row.isEnded ? DAY_MS : pause));
  await noteRemote(ctx.db, row, { error, nextSyncAt });
  return { ...row, error };
}
