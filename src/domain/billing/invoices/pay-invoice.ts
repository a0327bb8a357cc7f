/**
 * The gateway `offline` (specification 3.6): the customer claims that it paid, an administrator approves or rejects. An
 * administrator may also record a payment without a claim.
 */
import { isUid, newUid } from '../../../lib/ids.ts';
import { multiLine, parseInput } from '../../../lib/text.ts';
import { viewerOf, type Context } from '../../context.ts';
import {
  invoiceNotFound,
  invoiceNotPending,
  offlineNotOffered,
  paymentDecided,
  paymentNotFound,
  tooManyClaims,
  vendorDecides,
} from '../billing-errors.ts';
import { requireAdministrator } from '../billing-rights.ts';
import { recordEvent, workOnCustomer, type BillingWork } from '../billing-work.ts';
import { endOpenTry } from '../payments/end-open-try.ts';
import { chargeIfLeft } from '../saved-methods/follow-charge.ts';
import { offeredGateways } from '../gateways/offered-gateways.ts';
import { OFFLINE } from '../gateways/payment-gateway.ts';
import { allGateways } from '../gateways/payment-gateway-store.ts';
import { findInvoice, findInvoiceByUid, type Invoice } from './invoice-store.ts';
import { moveIntent } from '../payments/move-intent.ts';
import { paymentStatuses, type Payment, type PaymentStatus } from '../payments/payment-intent.ts';
import { countPayments, findOpenPayment, findPaymentByUid, insertPayment } from '../payments/payment-store.ts';
import { settleInvoice } from './settle-invoice.ts';
import { findSubscription } from '../subscriptions/subscription-store.ts';
import { visibleInvoice } from './visible-invoice.ts';
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
  if (open?.method === OFFLINE) return open;
  const offered = await offeredGateways(work.ctx, invoice);
  if (!offered.some(({ type }) => type === OFFLINE)) throw offlineNotOffered();
  if ((await countPayments(db, invoice, OFFLINE)) >= CLAIMS_PER_INVOICE_MAX)
    throw tooManyClaims(CLAIMS_PER_INVOICE_MAX);
  if (open) {
    await endOpenTry(work, open, { reason: 'A transfer was reported instead.' });
    await chargeIfLeft(work, open, invoice);
  }
  const payment = await insertOffline(work, invoice, note);
  await record(work, invoice, { event: 'payment_claimed', note });
  return (await moveIntent(work, payment, { to: 'AWAITING_ADMIN_APPROVAL' })) ?? payment;
}

async function insertOffline(work: BillingWork, invoice: Invoice, note: string | null): Promise<Payment> {
  const { db } = work.ctx;
  const gateway = (await allGateways(db)).find(({ type }) => type === OFFLINE);
  return insertPayment(db, invoice, {
    ...{ uid: newUid(), method: OFFLINE, gatewayId: gateway?.id ?? null, at: work.at, nextSyncAt: null },
    note: note ?? '',
  });
}

/**
 * The payment has arrived: the invoice is paid and takes effect. Repeating it changes nothing. Throws WrongStateError
 * `PAYMENT_DECIDED`, `PAYMENT_NOT_OFFLINE`; NotFoundError `PAYMENT_NOT_FOUND`.
 */
export async function approvePayment(ctx: Context, { uid }: { uid: string }): Promise<Payment> {
  return decide(ctx, uid, async (work, payment) => {
    const moved = await moveIntent(work, payment, { to: 'SUCCEEDED', by: viewerOf(ctx).userUid });
    if (!moved) return answerDecided(payment, 'SUCCEEDED');
    await settleInvoice(work, await invoiceOf(work, payment));
    return moved;
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
    const moved = await moveIntent(work, payment, { to: 'FAILED', by: viewerOf(ctx).userUid, reason });
    if (!moved) return answerDecided(payment, 'FAILED');
    await record(work, await invoiceOf(work, payment), { event: 'payment_rejected', note: reason });
    return moved;
  });
}

/**
 * Records a payment without a claim, or approves a claimed one; a try through a vendor is cancelled. Throws WrongStateError
 * `INVOICE_NOT_PENDING`; NotFoundError.
 */
export async function recordPayment(
  ctx: Context,
  { invoiceUid, ...input }: { invoiceUid: string; note?: string | null | undefined },
): Promise<Payment> {
  requireAdministrator(ctx);
  const { note } = parseInput(noteInput, input);
  return workOnInvoice(ctx, invoiceUid, async (work, invoice) => {
    const { db } = work.ctx;
    if (invoice.status !== 'pending') throw invoiceNotPending(invoice.status);
    const open = await findOpenPayment(db, invoice);
    // A try through a vendor has not brought this money: it must not be paid as well. The money that the administrator has seen counts, also
    // while a charge is under way: what that brings becomes credit.
    if (open && open.method !== OFFLINE)
      await endOpenTry(work, open, { reason: 'The invoice was paid in another way.', always: true });
    const payment = open?.method === OFFLINE ? open : await insertOffline(work, invoice, note ?? null);
    const moved = await moveIntent(work, payment, { to: 'SUCCEEDED', by: viewerOf(ctx).userUid });
    if (!moved) return answerDecided(payment, 'SUCCEEDED');
    await settleInvoice(work, invoice);
    return moved;
  });
}

/** The requested status of payments; by default those that wait for an administrator. Throws ValidationError. */
export function wantedPaymentStatus(status: string | null | undefined): PaymentStatus {
  return parseInput(statusInput, { status }).status ?? 'AWAITING_ADMIN_APPROVAL';
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
    if (payment.method !== OFFLINE) throw vendorDecides(payment.method);
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
