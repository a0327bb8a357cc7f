/** Makes an invoice from a bill, and voids one. */
import { newUid } from '../../../lib/ids.ts';
import type { BillingWork } from '../billing-work.ts';
import { changeCredit, readCredit } from './credit-store.ts';
import { endOpenTry } from '../payments/end-open-try.ts';
import { closeInvoice, findPendingInvoice, insertInvoice, type Invoice, type InvoiceKind } from './invoice-store.ts';
import { readableMoney, type Money } from '../money.ts';
import { findOpenPayment } from '../payments/payment-store.ts';
import { planById } from '../plans/plan-store.ts';
import type { Plan } from '../plans/plan.ts';
import { billFor, type Bill, type LineKind } from '../subscriptions/proration.ts';
import type { Subscription } from '../subscriptions/subscription.ts';

export interface InvoiceRequest {
  readonly kind: InvoiceKind;
  readonly plan: Plan;
  /** The unused part of the period before. */
  readonly unused: Money | null;
  /** Null: the period begins with the payment. */
  readonly periodStartsAt: Date | null;
  readonly dueAt: Date | null;
  /** Of a change of plan: the subscription's own end and options stay. */
  readonly keepsOverrides?: boolean;
  /** False: the vendor has taken the whole price. */
  readonly usesCredit?: boolean;
}

/** A pending invoice for a period of `plan`; the customer's credit is used for it. */
export async function writeInvoice(
  work: BillingWork,
  subscription: Subscription,
  request: InvoiceRequest,
): Promise<Invoice> {
  const { db } = work.ctx;
  const price = { minor: request.plan.priceMinor, currencyCode: request.plan.currencyCode };
  const balance = request.usesCredit === false ? 0n : await readCredit(db, work.customer.id, price.currencyCode);
  const bill = billFor(price, request.unused, balance);
  const before = await planById(db, subscription.planId);
  const invoice = await insertInvoice(db, {
    customerId: work.customer.id,
    uid: newUid(),
    subscriptionId: subscription.id,
    planId: request.plan.id,
    kind: request.kind,
    currencyCode: price.currencyCode,
    totalMinor: bill.totalMinor,
    priceMinor: price.minor,
    creditUsedMinor: bill.creditUsedMinor,
    creditKeptMinor: bill.creditKept?.minor ?? 0n,
    creditKeptCode: bill.creditKept?.currencyCode ?? null,
    keepsOverrides: request.keepsOverrides ?? false,
    periodStartsAt: request.periodStartsAt,
    dueAt: request.dueAt,
    createdAt: work.at,
    lines: describedLines(bill, { request, before }),
  });
  await moveCredit(work, invoice, -bill.creditUsedMinor);
  return invoice;
}

/**
 * Voids a pending invoice: its credit is returned, its open payment is cancelled. Throws WrongStateError
 * `PAYMENT_AWAITS_APPROVAL` when its payment was claimed, `PAYMENT_IN_PROGRESS` when a saved method is being charged, unless
 * `evenIfClaimed`.
 */
export async function voidInvoice(
  work: BillingWork,
  invoice: Invoice,
  { evenIfClaimed = false }: { evenIfClaimed?: boolean } = {},
): Promise<void> {
  const { ctx, at } = work;
  const open = await findOpenPayment(ctx.db, invoice);
  if (open) await endOpenTry(work, open, { reason: 'The invoice was withdrawn.', always: evenIfClaimed });
  if (await closeInvoice(ctx.db, invoice, { status: 'void', at }))
    await moveCredit(work, invoice, invoice.creditUsedMinor);
}

/** The same for the subscription's pending invoice, if there is one. */
export async function voidPendingInvoice(
  work: BillingWork,
  subscription: Subscription,
  options: { evenIfClaimed?: boolean } = {},
): Promise<void> {
  const invoice = await findPendingInvoice(work.ctx.db, subscription);
  if (invoice) await voidInvoice(work, invoice, options);
}

/** The amount to pay for this invoice. */
export function totalOf({ totalMinor, currencyCode }: Invoice): Money {
  return { minor: totalMinor, currencyCode };
}

async function moveCredit(work: BillingWork, invoice: Invoice, minor: bigint): Promise<void> {
  await changeCredit(work.ctx.db, {
    customerId: work.customer.id,
    money: { minor, currencyCode: invoice.currencyCode },
    invoiceUid: invoice.uid,
    at: work.at,
  });
}

function describedLines(bill: Bill, { request, before }: { request: InvoiceRequest; before: Plan }) {
  const period = request.periodStartsAt ? ` from ${request.periodStartsAt.toISOString().slice(0, 10)}` : '';
  const elsewhere =
    bill.creditKept && bill.creditKept.currencyCode !== request.plan.currencyCode
      ? `; ${readableMoney(bill.creditKept)} unused of ${before.name} kept as credit`
      : '';
  const descriptions: Readonly<Record<LineKind, string>> = {
    plan: `${request.plan.name}, ${request.plan.frequencyAmount} ${request.plan.frequencyUnit}${period}${elsewhere}`,
    unused: `Unused time of ${before.name}`,
    credit_kept: 'Kept as credit for later invoices',
    credit_used: 'Paid from credit',
  };
  return bill.lines.map(({ kind, amountMinor }) => ({ kind, amountMinor, description: descriptions[kind] }));
}
