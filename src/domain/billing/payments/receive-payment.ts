/** Money has arrived at a vendor: it pays its invoice if that is still open, else it becomes the customer's credit. Never twice. */
import { recordEvent, type BillingWork } from '../billing-work.ts';
import { changeCredit } from '../invoices/credit-store.ts';
import { findInvoice, type Invoice } from '../invoices/invoice-store.ts';
import type { Money } from '../money.ts';
import { moveIntent } from './move-intent.ts';
import type { Payment } from './payment-intent.ts';
import { findOpenPayment, writeCredited } from './payment-store.ts';
import { settleInvoice } from '../invoices/settle-invoice.ts';
import { findSubscription } from '../subscriptions/subscription-store.ts';

/**
 * Uses the money of an intent, less what was paid back. To be called once for an intent, in the transaction that writes that it was paid.
 */
export async function receivePayment(work: BillingWork, payment: Payment): Promise<void> {
  const { db } = work.ctx;
  const { customerId, invoiceId: id, amountMinor, refundedMinor } = payment;
  const invoice = await findInvoice(db, { customerId, id });
  if (!invoice) throw new Error(`Payment of an invoice that is not there: ${id}.`);
  if (refundedMinor === 0n && invoice.status === 'pending' && invoice.totalMinor === amountMinor) {
    await cancelOther(work, invoice, payment);
    if (await settleInvoice(work, invoice)) return;
  }
  const money = { minor: amountMinor - refundedMinor, currencyCode: payment.currencyCode };
  if (money.minor <= 0n) return;
  await writeCredited(db, payment, money.minor);
  await keepAsCredit(work, invoice, money);
}

/** Another way to pay the same invoice, begun and not ended. */
async function cancelOther(work: BillingWork, invoice: Invoice, { id }: Payment): Promise<void> {
  const other = await findOpenPayment(work.ctx.db, invoice);
  if (other && other.id !== id)
    await moveIntent(work, other, { to: 'CANCELLED', reason: 'The invoice was paid in another way.' });
}

async function keepAsCredit(work: BillingWork, invoice: Invoice, money: Money): Promise<void> {
  const { customerId, uid: invoiceUid, subscriptionId: id } = invoice;
  await changeCredit(work.ctx.db, { customerId, money, invoiceUid, at: work.at });
  const subscription = await findSubscription(work.ctx.db, { customerId, id });
  const note = `The invoice was ${invoice.status} when the money came: it was kept as credit.`;
  if (subscription)
    await recordEvent(work, subscription, { event: 'payment_credited', amount: money, invoiceUid, note });
}
