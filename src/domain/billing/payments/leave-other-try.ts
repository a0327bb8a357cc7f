/** Before an invoice is paid in another way: the vendor of the open try is asked first, so that the customer does not pay twice. */
import { messageOf, PluginFailedError } from '../../../lib/errors.ts';
import { GatewayError } from '../../../plugin-api/index.ts';
import type { Context } from '../../context.ts';
import { isCharging } from './end-open-try.ts';
import { gatewayOf } from '../gateways/gateway-of.ts';
import { intentForGateway } from './intent-for-gateway.ts';
import type { Invoice } from '../invoices/invoice-store.ts';
import type { Payment } from './payment-intent.ts';
import { findOpenPayment } from './payment-store.ts';
import { syncInvoice } from './sync-payments.ts';

/**
 * Makes the open try unpayable at its vendor, unless it `goesOn`. What the vendor says then is applied: the invoice may be paid by now. A charge
 * under way is only read: nothing may take its place, so one that was cancelled there would leave the invoice to nobody.
 */
export async function leaveOtherTry(ctx: Context, invoice: Invoice, goesOn: (open: Payment) => boolean): Promise<void> {
  const other = await findOpenPayment(ctx.db, invoice);
  if (!other || other.gatewayId === null || other.reference === null) return;
  if (!goesOn(other) && !isCharging(other)) await withdrawAtVendor(ctx, other);
  await syncInvoice(ctx, invoice);
}

async function withdrawAtVendor(ctx: Context, payment: Payment): Promise<void> {
  try {
    const open = await gatewayOf(ctx, payment);
    const intent = await intentForGateway(ctx, payment);
    if (open?.can('cancelIntent')) await open.call(async (service) => service.cancelIntent?.(intent));
  } catch (error) {
    if (!(error instanceof GatewayError) && !(error instanceof PluginFailedError)) throw error;
    // The job of the cancelled intent tries again.
    ctx.log.warn('billing.cancel_failed', { payment: payment.uid, message: messageOf(error) });
  }
}
