/** A period that a vendor has taken the money for: it pays our renewal, or becomes the customer's credit. Under the customer's lock. */
import { newUid } from '../../../lib/ids.ts';
import { assert } from '../../../lib/errors.ts';
import { recordEvent, type BillingWork } from '../billing-work.ts';
import { changeCredit } from '../invoices/credit-store.ts';
import { findPendingInvoice, type Invoice } from '../invoices/invoice-store.ts';
import type { Money } from '../money.ts';
import { moveIntent } from '../payments/move-intent.ts';
import type { Payment } from '../payments/payment-intent.ts';
import { findOpenPayment, insertPayment } from '../payments/payment-store.ts';
import type { Plan } from '../plans/plan.ts';
import { settleInvoice } from '../invoices/settle-invoice.ts';
import { findSubscription, saveSubscription } from '../subscriptions/subscription-store.ts';
import { withPeriodEnd, type Subscription } from '../subscriptions/subscription.ts';
import { voidInvoice, writeInvoice } from '../invoices/write-invoice.ts';
import type { RemotePeriod } from '../../../plugin-api/index.ts';
import type { ReadRemote } from './remote-answers.ts';
import type { RemotePrice } from './remote-price.ts';
import { agreePlan, wantPlan, type Remote } from './remote-subscription-store.ts';
import { enqueuePlanChange } from './wanted-remote-plan.ts';

/** One subscription of a vendor, with the payment that began it. */
export interface FoundRemote {
  readonly payment: Payment;
  readonly remote: ReadRemote;
  /** Undefined: not read, and only what needs none is counted. */
  readonly periods?: readonly RemotePeriod[] | null | undefined;
}

export interface Applying extends FoundRemote {
  readonly row: Remote;
  readonly invoice: Invoice;
  readonly subscription: Subscription;
  readonly price: RemotePrice;
  /** What the vendor says about periods before its present one, when some were missed; null: it says nothing of them. */
  readonly periods: readonly RemotePeriod[] | null | undefined;
}

/** Our present period ends when the vendor's does. */
export async function alignPeriod(
  work: BillingWork,
  { subscription, price }: Applying,
  end: Date | null,
): Promise<void> {
  if (end === null) return;
  await saveSubscription(work.ctx.db, withPeriodEnd(subscription, price.plan, end), work.at);
}

/** The vendor got nothing for a period, and money for a later one: ours goes on, unpaid, to where that one begins. */
export async function skipPeriod(
  work: BillingWork,
  { subscription: key, price, row }: Applying,
  end: Date,
): Promise<void> {
  const { db } = work.ctx;
  const subscription = await findSubscription(db, key);
  assert(subscription, 'a subscription is there while its customer is locked');
  work.ctx.log.warn('billing.remote_period_unpaid', { remote: row.remoteId, until: end.toISOString() });
  await saveSubscription(db, { ...withPeriodEnd(subscription, price.plan, end), ...UNPAID }, work.at);
}

/** Nothing of it is paid back when the plan is changed. */
const UNPAID = { paidMinor: 0n, paidCurrencyCode: null } as const;

/** A renewal that the vendor has taken the money for: its invoice, paid, and the period. */
export async function payPeriod(
  work: BillingWork,
  { subscription: key, payment, price, row }: Applying,
  end: Date,
): Promise<void> {
  const { db } = work.ctx;
  const { plan } = price;
  const subscription = await findSubscription(db, key);
  assert(subscription, 'a subscription is there while its customer is locked');
  const invoice = await invoiceFor(work, subscription, plan);
  const paid = await insertPayment(db, invoice, {
    ...{ uid: newUid(), method: payment.method, gatewayId: payment.gatewayId, at: work.at, nextSyncAt: null },
    note: `Taken by the vendor's subscription ${row.remoteId}, period to ${end.toISOString().slice(0, 10)}.`,
  });
  await moveIntent(work, paid, { to: 'SUCCEEDED' });
  await settleInvoice(work, invoice);
  const next = await findSubscription(db, key);
  assert(next, 'a renewed subscription is there');
  await saveSubscription(db, withPeriodEnd(next, plan, end), work.at);
  if (price.isAtVendor) await agreePlan(db, row, plan.id);
  if (row.wantedPlanId === plan.id) await wantPlan(db, row, null);
  else if (row.wantedPlanId !== null) await enqueuePlanChange(db, row);
}

/** The whole price, because the vendor has taken it: no credit is used. One that waits for payment is paid by it if it is the same. */
async function invoiceFor(work: BillingWork, subscription: Subscription, plan: Plan): Promise<Invoice> {
  const pending = await findPendingInvoice(work.ctx.db, subscription);
  const kind = plan.id === subscription.planId ? 'renewal' : 'change';
  if (pending?.kind === kind && pending.planId === plan.id && pending.totalMinor === plan.priceMinor) {
    const open = await findOpenPayment(work.ctx.db, pending);
    if (open)
      await moveIntent(work, open, { to: 'CANCELLED', reason: "The vendor's subscription has paid the invoice." });
    return pending;
  }
  if (pending) await voidInvoice(work, pending, { evenIfClaimed: true });
  const periodStartsAt = subscription.currentPeriodEndsAt;
  return writeInvoice(work, subscription, { kind, plan, unused: null, periodStartsAt, dueAt: null, usesCredit: false });
}

/** Taken after our subscription was cancelled or replaced, at another price, or for what is paid already: what did not go back is the customer's. */
export async function keepAsCredit(
  work: BillingWork,
  { subscription, invoice, row, price }: Applying,
  { money }: { readonly money: Money },
): Promise<void> {
  if (money.minor <= 0n) return;
  const { customerId } = subscription;
  await changeCredit(work.ctx.db, { customerId, money, invoiceUid: invoice.uid, at: work.at });
  const others =
    subscription.status === 'active' ? 'for what is paid in another way' : `when ours was ${subscription.status}`;
  const why = price.mismatch === undefined ? others : 'that is not the price of the plan';
  const note = `The vendor's subscription ${row.remoteId} took money ${why}: it was kept as credit.`;
  await recordEvent(work, subscription, { event: 'payment_credited', amount: money, invoiceUid: invoice.uid, note });
}
