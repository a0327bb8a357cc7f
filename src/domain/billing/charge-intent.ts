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
import { applyVendorState, readVendorIntent } from './apply-vendor-state.ts';
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
import { moveIntent } from './move-intent.ts';
import type { PaymentMethodData } from '../../plugin-api/index.ts';

/**
 * Begins to charge the customer's newest saved method that may pay this invoice: an intent, and the job that charges it, in the transaction
 * of the invoice. Undefined: there is none, or another payment is open.
 */
export async function chargeSavedMethod(work: BillingWork, invoice: Invoice): Promise<Payment | undefined> {
  const { ctx, at } = work;
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
  if (!method || !open?.can('prepareCharge') || !open.can('autoCharge')) return giveUp(ctx, found);
  const data = unsealMethod(ctx.installation.secret, method.uid, method.sealedData);
  const prepared = await prepare(ctx, { open, payment: found, data });
  if (!prepared) return;
  const intent = await intentForGateway(ctx, prepared);
  const vendor = await open.call(async (service) => service.autoCharge?.(intent, data));
  if (vendor === undefined) return;
  const checked = readVendorIntent(vendor);
  await workOnCustomer(ctx, prepared.customerId, (work) => applyVendorState(work, prepared, checked));
}

/** The intent with its reference, marked as being charged; undefined: it was closed meanwhile, or its invoice is not open. */
async function prepare(
  ctx: Context,
  { open, payment, data }: { open: OpenGateway; payment: Payment; data: PaymentMethodData },
): Promise<Payment | undefined> {
  const reference = payment.reference ?? (await preparedReference(ctx, { open, payment, data }));
  return workOnCustomer(ctx, payment.customerId, async (work) => {
    const { db } = work.ctx;
    // A restored copy of the installation must not charge anybody.
    if (await installationHold(db)) throw onHold();
    const intent = await findPayment(db, payment);
    const invoice = intent && (await findInvoice(db, { customerId: intent.customerId, id: intent.invoiceId }));
    if (!intent || !isOpen(intent) || invoice?.status !== 'pending') return undefined;
    const next = nextSyncAt({ ...intent, reference }, work.at);
    if (!(await writeReference(db, intent, { reference, nextSyncAt: next }))) return undefined;
    if (!(await markCharged(db, intent, work.at))) return undefined;
    return { ...intent, reference, chargedAt: intent.chargedAt ?? work.at };
  });
}

async function preparedReference(
  ctx: Context,
  { open, payment, data }: { open: OpenGateway; payment: Payment; data: PaymentMethodData },
): Promise<string> {
  if (await installationHold(ctx.db)) throw onHold();
  const intent = await intentForGateway(ctx, payment);
  const prepared = await open.call(async (service) => service.prepareCharge?.(intent, data));
  return z.string().min(1).max(255).parse(prepared?.reference);
}

function giveUp(ctx: Context, payment: Payment): Promise<void> {
  return workOnCustomer(ctx, payment.customerId, async (work) => {
    const reason = 'The saved payment method or its gateway is not there any more.';
    await moveIntent(work, payment, { to: 'FAILED', reason });
  });
}
