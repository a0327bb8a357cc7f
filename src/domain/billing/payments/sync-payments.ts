/**
 * The host's sync (specification 4.13): reads the vendors' state of payments and moves the intents. It runs when the page of an invoice is
 * loaded, by its refresh button, and every minute. What was paid while the installation was down is found by the next run.
 */
import { installationHold } from '../../accounts/installation-hold-read-model.ts';
import { messageOf, PluginFailedError } from '../../../lib/errors.ts';
import { GatewayError, type VendorIntent } from '../../../plugin-api/index.ts';
import { z } from 'zod';
import type { Context } from '../../context.ts';
import { applyVendorState, noteGone, noteUnknown, readVendorIntent } from './apply-vendor-state.ts';
import { workOnCustomer, type BillingWork } from '../billing-work.ts';
import { writeNextCharge } from '../saved-methods/charge-time-store.ts';
import { followCharge } from '../saved-methods/follow-charge.ts';
import { gatewayOf } from '../gateways/gateway-of.ts';
import { missingGatewayType } from '../gateways/open-gateway.ts';
import { intentForGateway } from './intent-for-gateway.ts';
import { visibleInvoice } from '../invoices/visible-invoice.ts';
import type { Invoice } from '../invoices/invoice-store.ts';
import { moveIntent } from './move-intent.ts';
import { isOpen, nextSyncAt, UNBEGUN_HOURS_MAX, type Payment } from './payment-intent.ts';
import { syncBegunRemote, syncRemotes } from '../remote/sync-remotes.ts';
import { duePayments, findPayment, noteSync, paymentsToSync } from './payment-store.ts';

/** Read together: a vendor allows some 25 reads a second for each account. */
const AT_ONCE = 8;
/** The next run comes in a minute; one of them must not run into many. */
const RUN_MS_MAX = 240_000;
/** An invoice has few tries about which a vendor still says something; strangers who reload a page cause as many calls. */
const PER_INVOICE_MAX = 5;
/** A page that is loaded again at once does not ask again. */
const FRESH_MS = 2_000;
const HOUR_MS = 3_600_000;

/** Reads every payment that is due. Returns how many were read: none while the installation is on hold, as reading may capture. */
export async function syncPayments(ctx: Context): Promise<{ read: number }> {
  if (await installationHold(ctx.db)) return { read: 0 };
  const startedAt = ctx.clock.now();
  const began = performance.now();
  let read = 0;
  while (performance.now() - began < RUN_MS_MAX) {
    const due = await duePayments(ctx.db, startedAt, AT_ONCE);
    if (due.length === 0) break;
    await Promise.all(due.map((payment) => syncOne(ctx, payment)));
    read += due.length;
  }
  await syncRemotes(ctx);
  return { read };
}

/** One that fails must neither stop the others nor be due at once again. */
async function syncOne(ctx: Context, payment: Payment): Promise<void> {
  try {
    await syncPayment(ctx, payment);
  } catch (error) {
    ctx.log.error('billing.sync_failed', { payment: payment.uid, message: messageOf(error) });
    const at = ctx.clock.now();
    await noteSync(ctx.db, payment, { at, nextSyncAt: new Date(at.getTime() + HOUR_MS), error: messageOf(error) });
  }
}

/** Reads the payments of an invoice, unless that was done a moment ago. Never throws for a vendor or a plugin that fails. */
export async function syncInvoice(ctx: Context, invoice: Pick<Invoice, 'customerId' | 'id'>): Promise<void> {
  if (await installationHold(ctx.db)) return;
  const at = ctx.clock.now().getTime();
  for (const payment of await paymentsToSync(ctx.db, invoice, PER_INVOICE_MAX))
    if (payment.syncedAt === null || at - payment.syncedAt.getTime() >= FRESH_MS) await syncPayment(ctx, payment);
}

/** Reads all payments of an invoice about which a vendor may say something. What fails is noted in its row. */
export async function syncContained(ctx: Context, invoice: Pick<Invoice, 'customerId' | 'id'>): Promise<void> {
  for (const payment of await paymentsToSync(ctx.db, invoice, PER_INVOICE_MAX)) await syncOne(ctx, payment);
}

/** For the refresh button: reads the vendors' state of an invoice's payments. Throws NotFoundError, ForeignResourceError. */
export async function refreshInvoice(ctx: Context, { uid }: { uid: string }): Promise<Invoice> {
  const invoice = await visibleInvoice(ctx, uid);
  await syncInvoice(ctx, invoice);
  return invoice;
}

type Read = { readonly vendor: VendorIntent } | { readonly error: string } | 'gone';

/** Reads the vendor's state of one payment, and applies it under the customer's lock. False: the vendor did not say what it is. */
export async function syncPayment(ctx: Context, payment: Payment): Promise<boolean> {
  const read = payment.reference === null ? undefined : await readState(ctx, payment);
  await workOnCustomer({ ...ctx, viewer: null }, payment.customerId, async (work) => {
    if (read === undefined) return endUnbegun(work, payment);
    if (read === 'gone') return noteGone(work, payment);
    if ('vendor' in read) return applyVendorState(work, payment, read.vendor);
    await noteUnknown(work, payment, read.error);
  });
  const begun =
    read !== undefined && read !== 'gone' && 'vendor' in read ? read.vendor.remoteSubscriptionId : undefined;
  if (begun !== undefined && payment.remotePlanId !== null) await syncBegunRemote(ctx, payment, begun);
  return read === undefined || read === 'gone' || 'vendor' in read;
}

async function readState(ctx: Context, payment: Payment): Promise<Read> {
  try {
    const open = await gatewayOf(ctx, payment);
    if (!open) return { error: missingGatewayType(ctx, payment.method) ?? 'Its payment gateway was deleted.' };
    const intent = await intentForGateway(ctx, payment);
    const vendor = await open.call((service) => service.getIntentState(intent));
    if (vendor === undefined) return 'gone';
    return { vendor: readVendorIntent(ctx, vendor) };
  } catch (error) {
    if (error instanceof GatewayError || error instanceof PluginFailedError) return { error: messageOf(error) };
    if (error instanceof z.ZodError)
      return {
        error: `The plugin answered what is no state of a payment: ${error.issues[0]?.path.join('.')} is wrong.`,
      };
    throw error;
  }
}

/** Nothing is known of it at the vendor. */
async function endUnbegun(work: BillingWork, key: Payment): Promise<void> {
  const { ctx, at } = work;
  const payment = await findPayment(ctx.db, key);
  if (!payment) return;
  const isOld = at.getTime() - payment.createdAt.getTime() >= UNBEGUN_HOURS_MAX * HOUR_MS;
  if (payment.reference === null && isOpen(payment) && isOld) {
    const ended = await moveIntent(work, payment, { to: 'CANCELLED', reason: 'The payment was not begun.' });
    // A saved method whose vendor was down all day: it is charged another day, and the customer is told.
    if (payment.chargedAt === null) await followCharge(work, ended);
    // The vendor was asked for a subscription, which may be there: the program takes no other money for it by itself.
    else await writeNextCharge(ctx.db, { customerId: payment.customerId, id: payment.invoiceId }, null);
  } else await noteSync(ctx.db, payment, { at, nextSyncAt: nextSyncAt(payment, at), error: null });
}
