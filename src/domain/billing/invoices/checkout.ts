/** The page of an open invoice, for whoever has its link: reading it, reporting a transfer, going to the checkout of a gateway. */
import type { Context } from '../../context.ts';
import { invoiceNotFound } from '../billing-errors.ts';
import { readCheckoutToken } from './checkout-link.ts';
import { findCheckoutInvoice, type CheckoutInvoice } from './checkout-read-model.ts';
import { findGatewayType } from '../gateways/open-gateway.ts';
import { offeredGateways } from '../gateways/offered-gateways.ts';
import { OFFLINE, type StoredGateway } from '../gateways/payment-gateway.ts';
import { findInvoiceByUid, type Invoice } from './invoice-store.ts';
import { claimPaymentByProof } from './pay-invoice.ts';
import { startPaymentOf, type StartedPayment } from '../payments/start-payment.ts';
import { syncInvoice } from '../payments/sync-payments.ts';

/**
 * `rejected`: the operator did not find the payment, and it can be reported again. `failed`: the vendor refused it. `action`: the bank wants
 * the customer to confirm it. `processing`: a saved method is being charged or a bank debit is under way, and nothing else can be paid meanwhile.
 */
export type CheckoutState =
  | 'open'
  | 'claimed'
  | 'rejected'
  | 'failed'
  | 'action'
  | 'processing'
  | 'paid'
  | 'withdrawn'
  | 'disabled';
/** A gateway with a checkout of its own. */
export interface OfferedGateway {
  readonly uid: string;
  readonly name: string;
  /** `vendor/name` */
  readonly plugin: string;
}

export type Checkout =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'expired' }
  | {
      readonly kind: 'invoice';
      readonly state: CheckoutState;
      readonly invoice: CheckoutInvoice;
      readonly gateways: readonly OfferedGateway[];
      readonly isOfflineOffered: boolean;
    };

/** What the link shows; the vendors of payments that were begun are asked first. Never throws for a wrong link. */
export async function readCheckout(ctx: Context, token: string): Promise<Checkout> {
  const read = readCheckoutToken(ctx.installation, token, ctx.clock.now());
  if (!read) return { kind: 'unknown' };
  if (read.isExpired) return { kind: 'expired' };
  const pending = await findInvoiceByUid(ctx.db, read.invoiceUid);
  if (pending?.status === 'pending') await syncInvoice(ctx, pending);
  const invoice = await findCheckoutInvoice(ctx.db, read.invoiceUid);
  if (!invoice || !pending || invoice.customerStatus === 'deleting') return { kind: 'unknown' };
  const offered = invoice.status === 'pending' ? await offeredGateways(ctx, pending) : [];
  return {
    ...{ kind: 'invoice', state: stateOf(invoice), invoice },
    gateways: offered.flatMap((gateway) => withPlugin(ctx, gateway)),
    isOfflineOffered: offered.some(({ type }) => type === OFFLINE),
  };
}

/**
 * Claims that the invoice of the link was paid; a repeated claim changes nothing. Throws what `claimPayment` throws; NotFoundError
 * `INVOICE_NOT_FOUND` when the link does not work, or no longer.
 */
export async function claimByLink(ctx: Context, token: string, input: { note: string }): Promise<void> {
  await claimPaymentByProof(ctx, { invoiceUid: (await invoiceOfLink(ctx, token)).uid, ...input });
}

/** Begins to pay the invoice of the link through a gateway. Throws what `startPayment` throws; NotFoundError as above. */
export async function payByLink(ctx: Context, token: string, gatewayUid: string): Promise<StartedPayment> {
  return startPaymentOf(ctx, await invoiceOfLink(ctx, token), gatewayUid);
}

async function invoiceOfLink(ctx: Context, token: string): Promise<Invoice> {
  const checkout = await readCheckout(ctx, token);
  if (checkout.kind !== 'invoice' || checkout.state === 'disabled') throw invoiceNotFound();
  const invoice = await findInvoiceByUid(ctx.db, checkout.invoice.uid);
  if (!invoice) throw invoiceNotFound();
  return invoice;
}

function withPlugin(ctx: Context, { uid, name, type }: StoredGateway): OfferedGateway[] {
  const plugin = findGatewayType(ctx, type)?.plugin;
  return plugin ? [{ uid, name, plugin }] : [];
}

function stateOf({ status, customerStatus, payment }: CheckoutInvoice): CheckoutState {
  if (status === 'paid') return 'paid';
  if (status === 'void') return 'withdrawn';
  if (customerStatus !== 'active') return 'disabled';
  if (payment?.status === 'AWAITING_ADMIN_APPROVAL') return 'claimed';
  if (payment?.status === 'REQUIRES_ACTION') return 'action';
  if (payment?.isCharging) return 'processing';
  if (payment?.status !== 'FAILED') return 'open';
  return payment.method === OFFLINE ? 'rejected' : 'failed';
}
