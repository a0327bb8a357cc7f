/** The page of an open invoice, for whoever has its link: reading it, and reporting that it was paid by transfer. */
import type { Context } from '../context.ts';
import { invoiceNotFound } from './billing-errors.ts';
import { readCheckoutToken } from './checkout-link.ts';
import { findCheckoutInvoice, type CheckoutInvoice } from './checkout-read-model.ts';
import { claimPaymentByProof } from './pay-invoice.ts';

/** `rejected`: the operator did not find the payment, and it can be reported again. */
export type CheckoutState = 'open' | 'claimed' | 'rejected' | 'paid' | 'withdrawn' | 'disabled';
export type Checkout =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'expired' }
  | { readonly kind: 'invoice'; readonly state: CheckoutState; readonly invoice: CheckoutInvoice };

/** What the link shows. Never throws for a wrong link. */
export async function readCheckout(ctx: Context, token: string): Promise<Checkout> {
  const read = readCheckoutToken(ctx.installation, token, ctx.clock.now());
  if (!read) return { kind: 'unknown' };
  if (read.isExpired) return { kind: 'expired' };
  const invoice = await findCheckoutInvoice(ctx.db, read.invoiceUid);
  if (!invoice || invoice.customerStatus === 'deleting') return { kind: 'unknown' };
  return { kind: 'invoice', state: stateOf(invoice), invoice };
}

/**
 * Claims that the invoice of the link was paid; a repeated claim changes nothing. Throws what `claimPayment` throws; NotFoundError
 * `INVOICE_NOT_FOUND` when the link does not work, or no longer.
 */
export async function claimByLink(ctx: Context, token: string, input: { note: string }): Promise<void> {
  const checkout = await readCheckout(ctx, token);
  if (checkout.kind !== 'invoice' || checkout.state === 'disabled') throw invoiceNotFound();
  await claimPaymentByProof(ctx, { invoiceUid: checkout.invoice.uid, ...input });
}

function stateOf({ status, customerStatus, payment }: CheckoutInvoice): CheckoutState {
  if (status === 'paid') return 'paid';
  if (status === 'void') return 'withdrawn';
  if (customerStatus !== 'active') return 'disabled';
  if (payment?.status === 'AWAITING_ADMIN_APPROVAL') return 'claimed';
  return payment?.status === 'FAILED' ? 'rejected' : 'open';
}
