/**
 * The built-in offline payment (specification 3.6): the customer claims that it paid, an administrator approves or rejects. An
 * administrator may also record a payment without a claim.
 */
import { isUid, newUid } from '../../lib/ids.ts';
import { multiLine, parseInput } from '../../lib/text.ts';
import { viewerOf, type Context } from '../context.ts';
import {
  foreignInvoice,
  invoiceNotFound,
  invoiceNotPending,
  paymentDecided,
  paymentNotFound,
  tooManyClaims,
} from './billing-errors.ts';
import { administers, requireAdministrator } from './billing-rights.ts';
import { recordEvent, workOnCustomer, type BillingWork } from './billing-work.ts';
import { findInvoice, findInvoiceByUid, type Invoice } from './invoice-store.ts';
import {
  closePayment,
  countPayments,
  findOpenPayment,
  findPaymentByUid,
  insertPayment,
  paymentStatuses,
  type Payment,
  type PaymentStatus,
} from './payment-store.ts';
import { settleInvoice } from './settle-invoice.ts';
import { findSubscription } from './subscription-store.ts';
import { totalOf } from './write-invoice.ts';
import { z } from 'zod';

/** After so many rejections the customer should contact the operator. */
const CLAIMS_PER_INVOICE_MAX = 10;
const NOTE_LENGTH_MAX = 1_000;

export const noteInput = z.object({ note: multiLine(NOTE_LENGTH_MAX).nullish() });
const statusInput = z.object({ status: z.enum(paymentStatuses).nullish() });
export const reasonInput = z.object({ reason: multiLine(NOTE_LENGTH_MAX).nullish() });

/**
 * Claims that an invoice was paid by transfer; a repeated claim changes nothing. Throws WrongStateError `INVOICE_NOT_PENDING`,
 * `TOO_MANY_CLAIMS`; NotFoundError `INVOICE_NOT_FOUND`, ForeignResourceError.
 */
export async function claimPayment(
  ctx: Context,
  { invoiceUid, ...input }: { invoiceUid: string; note?: string | null | undefined },
): Promise<Payment> {
  const note = parseNote(input);
  return workOnInvoice(ctx, invoiceUid, (work, invoice) => claim(work, invoice, note));
}

/** The same for somebody whose link proves the right to do it. Throws the same, but no ForeignResourceError. */
export async function claimPaymentByProof(
  ctx: Context,
  { invoiceUid, ...input }: { invoiceUid: string; note: string },
): Promise<Payment> {
  const note = parseNote(input);
  const invoice = await findInvoiceByUid(ctx.db, invoiceUid);
  if (!invoice) throw invoiceNotFound();
  return workOnFoundInvoice(ctx, invoice, (work, found) => claim(work, found, note));
}

function parseNote(input: { note?: string | null | undefined }): string | null {
  return parseInput(noteInput, input).note ?? null;
}

async function claim(work: BillingWork, invoice: Invoice, note: string | null): Promise<Payment> {
  const { db } = work.ctx;
  if (invoice.status !== 'pending') throw invoiceNotPending(invoice.status);
  const open = await findOpenPayment(db, invoice);
  if (open) return open;
  if ((await countPayments(db, invoice)) >= CLAIMS_PER_INVOICE_MAX) throw tooManyClaims(CLAIMS_PER_INVOICE_MAX);
  const given = { uid: newUid(), status: 'AWAITING_ADMIN_APPROVAL', note: note ?? '', at: work.at } as const;
  const payment = await insertPayment(db, invoice, given);
  await record(work, invoice, { event: 'payment_claimed', note });
  return payment;
}

/**
 * The payment has arrived: the invoice is paid and takes effect. Repeating it changes nothing. Throws WrongStateError
 * `PAYMENT_DECIDED`; NotFoundError `PAYMENT_NOT_FOUND`.
 */
export async function approvePayment(ctx: Context, { uid }: { uid: string }): Promise<Payment> {
  return decide(ctx, uid, async (work, payment) => {
    const decision = { status: 'SUCCEEDED', at: work.at, by: viewerOf(ctx).userUid, reason: null } as const;
    if (!(await closePayment(work.ctx.db, payment, decision))) return answerDecided(payment, 'SUCCEEDED');
    await settleInvoice(work, await invoiceOf(work, payment));
    return { ...payment, status: 'SUCCEEDED' };
  });
}

/**
 * The payment has not arrived; the customer may claim it again. Repeating it changes nothing. Throws WrongStateError
 * `PAYMENT_DECIDED`; NotFoundError `PAYMENT_NOT_FOUND`.
 */
export async function rejectPayment(
  ctx: Context,
  { uid, ...input }: { uid: string; reason?: string | null | undefined },
): Promise<Payment> {
  const { reason = null } = parseInput(reasonInput, input);
  return decide(ctx, uid, async (work, payment) => {
    const decision = { status: 'FAILED', at: work.at, by: viewerOf(ctx).userUid, reason } as const;
    if (!(await closePayment(work.ctx.db, payment, decision))) return answerDecided(payment, 'FAILED');
    await record(work, await invoiceOf(work, payment), { event: 'payment_rejected', note: reason });
    return { ...payment, status: 'FAILED' };
  });
}

/** Records a payment without a claim, or approves a claimed one. Throws WrongStateError `INVOICE_NOT_PENDING`; NotFoundError. */
export async function recordPayment(
  ctx: Context,
  { invoiceUid, ...input }: { invoiceUid: string; note?: string | null | undefined },
): Promise<Payment> {
  requireAdministrator(ctx);
  const { note } = parseInput(noteInput, input);
  return workOnInvoice(ctx, invoiceUid, async (work, invoice) => {
    const { db } = work.ctx;
    if (invoice.status !== 'pending') throw invoiceNotPending(invoice.status);
    const given = { uid: newUid(), status: 'PENDING', note: note ?? '', at: work.at } as const;
    const payment = (await findOpenPayment(db, invoice)) ?? (await insertPayment(db, invoice, given));
    await closePayment(db, payment, { status: 'SUCCEEDED', at: work.at, by: viewerOf(ctx).userUid, reason: null });
    await settleInvoice(work, invoice);
    return { ...payment, status: 'SUCCEEDED' };
  });
}

/** The requested status of payments; by default those that wait for an administrator. Throws ValidationError. */
export function wantedPaymentStatus(status: string | null | undefined): PaymentStatus {
  return parseInput(statusInput, { status }).status ?? 'AWAITING_ADMIN_APPROVAL';
}

/** An invoice that the caller may see. Throws NotFoundError `INVOICE_NOT_FOUND`, ForeignResourceError. */
export async function visibleInvoice(ctx: Context, uid: string): Promise<Invoice> {
  const invoice = isUid(uid) ? await findInvoiceByUid(ctx.db, uid) : undefined;
  if (!invoice) throw invoiceNotFound();
  if (invoice.customerId !== viewerOf(ctx).customerId && !administers(ctx)) throw foreignInvoice();
  return invoice;
}

async function workOnInvoice<T>(
  ctx: Context,
  uid: string,
  act: (work: BillingWork, invoice: Invoice) => Promise<T>,
): Promise<T> {
  return workOnFoundInvoice(ctx, await visibleInvoice(ctx, uid), act);
}

/** Runs `act` on the invoice as it is under the customer's lock. Throws NotFoundError `INVOICE_NOT_FOUND`. */
function workOnFoundInvoice<T>(
  ctx: Context,
  { customerId, id }: Invoice,
  act: (work: BillingWork, invoice: Invoice) => Promise<T>,
): Promise<T> {
  return workOnCustomer(ctx, customerId, async (work) => {
    const invoice = await findInvoice(work.ctx.db, { customerId, id });
    if (!invoice) throw invoiceNotFound();
    return act(work, invoice);
  });
}

async function decide(
  ctx: Context,
  uid: string,
  act: (work: BillingWork, payment: Payment) => Promise<Payment>,
): Promise<Payment> {
  requireAdministrator(ctx);
  const found = isUid(uid) ? await findPaymentByUid(ctx.db, uid) : undefined;
  if (!found) throw paymentNotFound();
  return workOnCustomer(ctx, found.customerId, async (work) => {
    const payment = await findPaymentByUid(work.ctx.db, uid);
    if (!payment) throw paymentNotFound();
    return act(work, payment);
  });
}

/** Decided the same way before, as wanted. */
function answerDecided(payment: Payment, wanted: Payment['status']): Payment {
  if (payment.status !== wanted) throw paymentDecided(payment.status);
  return payment;
}

async function invoiceOf({ ctx }: BillingWork, { customerId, invoiceId: id }: Payment): Promise<Invoice> {
  const invoice = await findInvoice(ctx.db, { customerId, id });
  if (!invoice) throw new Error(`Payment of an invoice that is not there: ${id}.`);
  return invoice;
}

async function record(
  work: BillingWork,
  invoice: Invoice,
  { event, note }: { event: 'payment_claimed' | 'payment_rejected'; note: string | null },
): Promise<void> {
  const key = { customerId: invoice.customerId, id: invoice.subscriptionId };
  const subscription = await findSubscription(work.ctx.db, key);
  if (!subscription) throw new Error(`Invoice of a subscription that is not there: ${key.id}.`);
  await recordEvent(work, subscription, { event, amount: totalOf(invoice), invoiceUid: invoice.uid, note });
}
