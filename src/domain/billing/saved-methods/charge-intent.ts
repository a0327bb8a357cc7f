/**
 * Charging a saved payment method while the customer is away. Three steps, each of which may be repeated after a crash: the vendor's object
 * is made, which moves no money; its id is committed; only then it is charged. One idempotency key for each step makes all attempts one charge.
 */
import { z } from 'zod';
import { installationHold, mayBeDoneElsewhere } from '../../accounts/installation-hold-read-model.ts';
import type { Context } from '../../context.ts';
import { applyVendorState, failPayment, readVendorIntent } from '../payments/apply-vendor-state.ts';
import { onHold } from '../billing-errors.ts';
import { workOnCustomer } from '../billing-work.ts';
import { gatewayOf } from '../gateways/gateway-of.ts';
import { unsealMethod } from '../gateways/gateway-secrets.ts';
import type { OpenGateway } from '../gateways/open-gateway.ts';
import { intentForGateway } from '../payments/intent-for-gateway.ts';
import { findInvoice } from '../invoices/invoice-store.ts';
import { moveIntent } from '../payments/move-intent.ts';
import { findMethod } from './payment-method-store.ts';
import { isOpen, nextSyncAt, type Payment } from '../payments/payment-intent.ts';
import { findPayment, findPaymentByUid, markCharged, writeReference } from '../payments/payment-store.ts';
import { syncPayment } from '../payments/sync-payments.ts';
import {
  GatewayError,
  type PaymentIntent,
  type PaymentMethodData,
  type VendorIntent,
} from '../../../plugin-api/index.ts';

const NOT_THERE = 'The saved payment method or its gateway is not there any more.';

/** The job. Rejects when the vendor cannot be asked: the queue tries again. An intent that is closed is not changed. */
export async function chargeIntent(ctx: Context, { intentUid }: { intentUid: string }): Promise<void> {
  const found = await findPaymentByUid(ctx.db, intentUid);
  if (!found || !isOpen(found) || found.methodId === null) return;
  if (await mayBeDoneElsewhere(ctx.db, found.createdAt)) return leaveToOriginal(ctx, found);
  const method = await findMethod(ctx.db, { customerId: found.customerId, id: found.methodId });
  const open = await gatewayOf(ctx, found);
  if (!method || !open?.can('prepareCharge') || !open.can('autoCharge'))
    return giveUp(ctx, found, { reason: NOT_THERE, isPermanent: !method });
  const data = unsealMethod(ctx.installation.secret, method.uid, method.sealedData);
  const prepared = await prepare(ctx, { open, payment: found, data });
  if (!prepared) return;
  const vendor = await chargeAtVendor(ctx, open, { intent: await intentForGateway(ctx, prepared), data });
  if (vendor === undefined) return;
  await workOnCustomer(ctx, prepared.customerId, (work) => applyVendorState(work, prepared, vendor));
}

/** What the vendor says after the charge. A refusal is final only if the vendor says that nothing is under way: an earlier try may have charged. */
async function chargeAtVendor(
  ctx: Context,
  open: OpenGateway,
  { intent, data }: { readonly intent: PaymentIntent; readonly data: PaymentMethodData },
): Promise<VendorIntent | undefined> {
  try {
    const answered = await open.call(async (service) => service.autoCharge?.(intent, data));
    return answered === undefined ? undefined : readVendorIntent(ctx, answered);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const read = await open.call((service) => service.getIntentState(intent));
    // What the vendor does not know may have been charged with other keys: the sync decides.
    if (read === undefined) throw error;
    const state = readVendorIntent(ctx, read);
    const isPending = state.status === 'PENDING' && state.isProcessing !== true;
    return isPending ? { ...state, status: 'FAILED', reason: error.message, isPermanent: true } : state;
  }
}

function isRefusal(error: unknown): error is GatewayError {
  return error instanceof GatewayError && error.kind === 'refused';
}

/**
 * The intent with its reference, marked as being charged; undefined: the vendor refused it, it was closed meanwhile, its invoice is not open, or
 * the customer is disabled.
 */
async function prepare(
  ctx: Context,
  { open, payment, data }: { open: OpenGateway; payment: Payment; data: PaymentMethodData },
): Promise<Payment | undefined> {
  const reference = payment.reference ?? (await preparedReference(ctx, { open, payment, data }));
  if (reference === undefined) return undefined;
  return workOnCustomer(ctx, payment.customerId, async (work) => {
    const { db } = work.ctx;
    // A restored copy of the installation must not charge anybody.
    if (await installationHold(db)) throw onHold();
    const intent = await findPayment(db, payment);
    const invoice = intent && (await findInvoice(db, { customerId: intent.customerId, id: intent.invoiceId }));
    if (!intent || !isOpen(intent) || invoice?.status !== 'pending' || work.customer.status !== 'active')
      return undefined;
    const next = nextSyncAt({ ...intent, reference }, work.at);
    if (!(await writeReference(db, intent, { reference, nextSyncAt: next }))) return undefined;
    if (!(await markCharged(db, intent, work.at))) return undefined;
    return { ...intent, reference, chargedAt: intent.chargedAt ?? work.at };
  });
}

/** Undefined: the vendor refused it, and the intent has failed. */
async function preparedReference(
  ctx: Context,
  { open, payment, data }: { open: OpenGateway; payment: Payment; data: PaymentMethodData },
): Promise<string | undefined> {
  if (await installationHold(ctx.db)) throw onHold();
  const intent = await intentForGateway(ctx, payment);
  try {
    const prepared = await open.call(async (service) => service.prepareCharge?.(intent, data));
    return z.string().min(1).max(255).parse(prepared?.reference);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    await giveUp(ctx, payment, { reason: error.message, isPermanent: true });
    return undefined;
  }
}

/** Only what was never charged has failed for sure. The rest may be paid: the sync finds out, or ends it when nobody knows for a week. */
function giveUp(
  ctx: Context,
  payment: Payment,
  why: { readonly reason: string; readonly isPermanent: boolean },
): Promise<void> {
  return workOnCustomer(ctx, payment.customerId, async (work) => {
    const intent = await findPayment(work.ctx.db, payment);
    if (!intent || !isOpen(intent)) return;
    if (intent.chargedAt !== null) throw new Error(`The payment ${intent.uid} may have been charged. ${why.reason}`);
    await failPayment(work, intent, why);
  });
}

/**
 * The charge was asked for before this copy was released, so the original may have made it: if it had begun, its vendor's object says what became
 * of it; if not, the original has made an object of its own, of which we know nothing. Then the customer pays on the page, if anything is unpaid.
 */
async function leaveToOriginal(ctx: Context, payment: Payment): Promise<void> {
  if (payment.reference !== null) {
    await syncPayment(ctx, payment);
    return;
  }
  const reason = 'It was asked for before the backup was restored: the original may have charged it.';
  await workOnCustomer(ctx, payment.customerId, (work) => moveIntent(work, payment, { to: 'CANCELLED', reason }));
}
