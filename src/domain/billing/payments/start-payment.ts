/**
 * Begins to pay an invoice through a gateway: an intent in the state PENDING, and the address of the gateway's checkout. Nothing is asked of
 * the vendor for that; the plugin's route does it when the browser comes.
 */
import { installationHold } from '../../accounts/installation-hold-read-model.ts';
import { newUid } from '../../../lib/ids.ts';
import { PluginFailedError } from '../../../lib/errors.ts';
import type { Context } from '../../context.ts';
import { invoiceNotFound, invoiceNotPending, onHold } from '../billing-errors.ts';
import { workOnCustomer, type BillingWork } from '../billing-work.ts';
import { checkoutPath } from '../invoices/checkout-link.ts';
import { endOpenTry, isCharging } from './end-open-try.ts';
import { chargeIfLeft } from '../saved-methods/follow-charge.ts';
import { missingGatewayType, openGateway, type OpenGateway } from '../gateways/open-gateway.ts';
import { requireOffered } from '../gateways/offered-gateways.ts';
import { gatewayNotOffered } from '../gateways/payment-gateway-errors.ts';
import { OFFLINE, type StoredGateway } from '../gateways/payment-gateway.ts';
import { knownGateway } from '../gateways/save-gateway.ts';
import { intentForGateway } from './intent-for-gateway.ts';
import { findInvoice, type Invoice } from '../invoices/invoice-store.ts';
import { leaveOtherTry } from './leave-other-try.ts';
import { nextSyncAt, type Payment } from './payment-intent.ts';
import { findOpenPayment, insertPayment } from './payment-store.ts';
import { remotePlanFor } from '../remote/begin-remote.ts';
import { requireTriesLeft } from './tries-left.ts';
import { visibleInvoice } from '../invoices/visible-invoice.ts';

export interface StartedPayment {
  /** Null: the gateway needs none before the customer reports the payment. */
  readonly payment: Payment | null;
  /** Where the browser goes next: a path of this installation. */
  readonly path: string;
}

/**
 * Begins to pay the caller's invoice. A try through the same gateway that is still open is continued; one through another gateway is cancelled.
 * Throws WrongStateError `INVOICE_NOT_PENDING`, `PAYMENT_AWAITS_APPROVAL`, `PAYMENT_IN_PROGRESS`, `TOO_MANY_PAYMENTS`,
 * `INSTALLATION_ON_HOLD`; ValidationError `PAYMENT_GATEWAY_NOT_OFFERED`; NotFoundError, ForeignResourceError.
 */
export async function startPayment(
  ctx: Context,
  { invoiceUid, gatewayUid }: { invoiceUid: string; gatewayUid: string },
): Promise<StartedPayment> {
  return startPaymentOf(ctx, await visibleInvoice(ctx, invoiceUid), gatewayUid);
}

/** The same for an invoice that the caller has proved to have the link of. */
export async function startPaymentOf(ctx: Context, found: Invoice, gatewayUid: string): Promise<StartedPayment> {
  if (found.status !== 'pending') throw invoiceNotPending(found.status);
  // Before anything is asked of a vendor, whose objects are the original's.
  if (await installationHold(ctx.db)) throw onHold();
  const gateway = await knownGateway(ctx, gatewayUid);
  await requireOffered(ctx, gateway, found);
  const returnPath = checkoutPath(ctx.installation, found.uid, ctx.clock.now());
  if (gateway.type === OFFLINE) return { payment: null, path: returnPath };
  const open = openGateway(ctx, gateway);
  if (!open) throw gatewayNotOffered(missingGatewayType(ctx, gateway.type) ?? '');
  const goesOn = (other: Payment) => other.gatewayId === gateway.id && other.methodId === null;
  const other = await findOpenPayment(ctx.db, found);
  // Refused before an open checkout is closed at its vendor for nothing.
  if (!other || !goesOn(other)) await requireTriesLeft(ctx.db, found);
  await leaveOtherTry(ctx, found, goesOn);
  const payment = await workOnCustomer(ctx, found.customerId, (work) => beginTry(work, found, gateway));
  return { payment, path: await checkoutPathOf(ctx, open, { payment, returnPath }) };
}

async function beginTry(work: BillingWork, { customerId, id }: Invoice, gateway: StoredGateway): Promise<Payment> {
  const { db } = work.ctx;
  // A restored copy of the installation must not charge anybody.
  if (await installationHold(db)) throw onHold();
  const invoice = await findInvoice(db, { customerId, id });
  if (!invoice) throw invoiceNotFound();
  if (invoice.status !== 'pending') throw invoiceNotPending(invoice.status);
  const open = await findOpenPayment(db, invoice);
  if (open && open.gatewayId === gateway.id && open.methodId === null && !isCharging(open)) return open;
  if (open) {
    await endOpenTry(work, open, { reason: 'Another way to pay was chosen.' });
    await chargeIfLeft(work, open, invoice);
  }
  await requireTriesLeft(db, invoice);
  const { at } = work;
  const remote = await remotePlanFor(db, invoice, gateway);
  const fresh = { gatewayId: gateway.id, reference: null, status: 'PENDING', createdAt: at, decidedAt: null } as const;
  return insertPayment(db, invoice, {
    ...{ uid: newUid(), method: gateway.type, gatewayId: gateway.id, at },
    ...('remotePlanId' in remote && remote),
    nextSyncAt: nextSyncAt(fresh, at),
  });
}

async function checkoutPathOf(
  ctx: Context,
  open: OpenGateway,
  { payment, returnPath }: { payment: Payment; returnPath: string },
): Promise<string> {
  const intent = await intentForGateway(ctx, payment);
  const path = open.ask((service) => service.getCheckoutUrl(intent, returnPath));
  if (typeof path === 'string' && path.startsWith(`/plugins/${open.plugin}/`) && !path.includes('\\')) return path;
  ctx.log.error('billing.checkout_address', {
    plugin: open.plugin,
    message: 'getCheckoutUrl must return a path of a route of the plugin.',
  });
  throw new PluginFailedError(String(open.plugin));
}
