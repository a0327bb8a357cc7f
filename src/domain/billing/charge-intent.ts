/**
 * Charging a saved payment method while the customer is away. Three steps, each of which may be repeated after a crash: the vendor's object
 * is made, which moves no money; its id is committed; only then it is charged. One idempotency key for each step makes all attempts one charge.
 */
import { z } from 'zod';
import { installationHold } from '../accounts/installation-hold-read-model.ts';
import { newUid } from '../../lib/ids.ts';
import type { Context } from '../context.ts';
import { chargeIntentJob } from '../../jobs/billing-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { applyVendorState, failPayment, readVendorIntent } from './apply-vendor-state.ts';
import { onHold } from './billing-errors.ts';
import { workOnCustomer, type BillingWork } from './billing-work.ts';
import { gatewayOf } from './gateways/gateway-of.ts';
import { unsealMethod } from './gateways/gateway-secrets.ts';
import { offeredGateways } from './gateways/offered-gateways.ts';
import type { OpenGateway } from './gateways/open-gateway.ts';
import { intentForGateway } from './intent-for-gateway.ts';
import { findInvoice, type Invoice } from './invoice-store.ts';
import { findMethod, methodsOf } from './payment-method-store.ts';
import { isOpen, nextSyncAt, type Payment } from './payment-intent.ts';
import {
  findOpenPayment,
  findPayment,
  findPaymentByUid,
  insertPayment,
  markCharged,
  writeReference,
} from './payment-store.ts';
import { GatewayError, type PaymentIntent, type PaymentMethodData, type VendorIntent } from '../../plugin-api/index.ts';

const NOT_THERE = 'The saved payment method or its gateway is not there any more.';

/**
 * Begins to charge the customer's newest saved method that may pay this invoice: an intent, and the job that charges it, in the transaction
 * of the invoice. Undefined: there is none, another payment is open, the customer is disabled, or the installation is on hold. A copy that is on
 * hold must not leave a charge behind for the time after it: the original has charged this period. The customer pays on the page then.
 */
export async function chargeSavedMethod(work: BillingWork, invoice: Invoice): Promise<Payment | undefined> {
  const { ctx, at } = work;
  if (work.customer.status !== 'active' || (await installationHold(ctx.db))) return undefined;
  if (await findOpenPayment(ctx.db, invoice)) return undefined;
  const methods = await methodsOf(ctx.db, invoice.customerId);
  if (methods.length === 0) return undefined;
  const gateways = await offeredGateways(ctx, invoice);
  const method = methods.find(({ gatewayId }) => gateways.some(({ id }) => id === gatewayId));
  const gateway = gateways.find(({ id }) => id === method?.gatewayId);
  if (!method || !gateway) return undefined;
  const fresh = { gatewayId: gateway.id, reference: null, status: 'PENDING', createdAt: at, decidedAt: null } as const;
  const payment = await insertPayment(ctx.db, invoice, {
    ...{ uid: newUid(), method: gateway.type, gatewayId: gateway.id, methodId: method.id, at },
    nextSyncAt: nextSyncAt(fresh, at),
  });
  const { customerId, uid } = payment;
  await enqueue(
    ctx.db,
    chargeIntentJob,
    { customerId: String(customerId), intentUid: uid },
    { key: `charge-intent:${uid}` },
  );
  return payment;
}

/** The job. Rejects when the vendor cannot be asked: the queue tries again. An intent that is closed is not changed. */
export async function chargeIntent(ctx: Context, { intentUid }: { intentUid: string }): Promise<void> {
  const found = await findPaymentByUid(ctx.db, intentUid);
  if (!found || !isOpen(found) || found.methodId === null) return;
  const method = await findMethod(ctx.db, { customerId: found.customerId, id: found.methodId });
  const open = await gatewayOf(ctx, found);
  if (!method || !open?.can('prepareCharge') || !open.can('autoCharge')) return giveUp(ctx, found, NOT_THERE);
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
    return isPending ? { ...state, status: 'FAILED', reason: error.message } : state;
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
    await giveUp(ctx, payment, error.message);
    return undefined;
  }
}

/** Only what was never charged has failed for sure. The rest may be paid: the sync finds out, or ends it when nobody knows for a week. */
function giveUp(ctx: Context, payment: Payment, reason: string): Promise<void> {
  return workOnCustomer(ctx, payment.customerId, async (work) => {
    const intent = await findPayment(work.ctx.db, payment);
    if (!intent || !isOpen(intent)) return;
    if (intent.chargedAt !== null) throw new Error(`The payment ${intent.uid} may have been charged. ${reason}`);
    await failPayment(work, intent, reason);
  });
}
