/**
 * Begins a subscription at a vendor without the customer's browser, with a saved payment method. The payment is committed before the vendor is
 * asked, its uid is in the vendor's subscription, and one idempotency key makes all attempts one. A process may die between any two steps.
 */
import { GatewayError } from '../../../plugin-api/index.ts';
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
import { findMethod } from '../saved-methods/payment-method-store.ts';
import { isOpen, nextSyncAt, type Payment } from '../payments/payment-intent.ts';
import { findPayment, findPaymentByUid, markCharged, writeReference } from '../payments/payment-store.ts';
import { readRemote, type ReadRemote } from './remote-answers.ts';
import { applyFound } from './apply-found-remote.ts';
import { findAtVendor } from './walk-remotes.ts';

/** Vendors keep idempotency keys for a day or less, and the queue may have stood still: then the vendor's list is looked through first. */
const KEY_AGE_MS_MAX = 3 * 60 * 60 * 1_000;

/** The job. Rejects when the vendor cannot be asked: the queue tries again. A payment that is closed is not changed. */
export async function createRemote(ctx: Context, { intentUid }: { intentUid: string }): Promise<void> {
  const found = await findPaymentByUid(ctx.db, intentUid);
  if (!found || !isOpen(found) || found.methodId === null || found.remotePlanId === null) return;
  const open = await gatewayOf(ctx, found);
  if (!open?.can('createSubscription') || !open.can('getRemoteSubscriptions'))
    throw new Error('The plugin of its payment gateway is not active.');
  // Asked for before this copy was released: the original may have begun it. What the vendor has is read, and none is begun.
  const isElsewhere = await mayBeDoneElsewhere(ctx.db, found.createdAt);
  if (isElsewhere && found.reference === null && !(await findAtVendor(ctx, open, found.uid)))
    return leaveToOriginal(ctx, found);
  const payment = await markBegun(ctx, found);
  if (!payment) return;
  const isOld = ctx.clock.now().getTime() - payment.createdAt.getTime() >= KEY_AGE_MS_MAX;
  const remote =
    payment.reference === null
      ? await createAtVendor(ctx, open, { payment, mayExist: isElsewhere || isOld || found.chargedAt !== null })
      : undefined;
  const reference = payment.reference ?? remote?.id;
  if (reference === undefined) return;
  const intent = await intentForGateway(ctx, { ...payment, reference });
  const read = await open.call((service) => service.getIntentState(intent));
  if (read) {
    const vendor = readVendorIntent(ctx, read);
    await workOnCustomer({ ...ctx, viewer: null }, payment.customerId, (work) =>
      applyVendorState(work, payment, vendor),
    );
  }
  if (remote) await applyFound(ctx, open, { payment, remote });
}

/** The customer pays on the page, if anything is unpaid. What the original begins later is found by the vendor's list, and its money is credit. */
async function leaveToOriginal(ctx: Context, payment: Payment): Promise<void> {
  const reason = 'It was asked for before the backup was restored: the original may have begun it.';
  await workOnCustomer({ ...ctx, viewer: null }, payment.customerId, (work) =>
    moveIntent(work, payment, { to: 'CANCELLED', reason }),
  );
}

/** From now on the vendor may have taken money. Undefined: it was closed, its invoice is not open, or the customer is disabled. */
function markBegun(ctx: Context, key: Payment): Promise<Payment | undefined> {
  return workOnCustomer({ ...ctx, viewer: null }, key.customerId, async (work) => {
    const { db } = work.ctx;
    // A restored copy of the installation must not charge anybody.
    if (await installationHold(db)) throw onHold();
    const payment = await findPayment(db, key);
    const invoice = payment && (await findInvoice(db, { customerId: payment.customerId, id: payment.invoiceId }));
    if (!payment || invoice?.status !== 'pending' || work.customer.status !== 'active') return undefined;
    return (await markCharged(db, payment, work.at)) ? payment : undefined;
  });
}

/** With its id saved. Undefined: the vendor refused it, and the payment has failed. */
async function createAtVendor(
  ctx: Context,
  open: OpenGateway,
  { payment, mayExist }: { readonly payment: Payment; readonly mayExist: boolean },
): Promise<ReadRemote | undefined> {
  // What an attempt before has made, or another installation.
  const known = mayExist ? await findAtVendor(ctx, open, payment.uid) : undefined;
  const remote = known ?? (await askVendor(ctx, open, payment));
  if (!remote) return undefined;
  await workOnCustomer({ ...ctx, viewer: null }, payment.customerId, ({ ctx: { db }, at }) =>
    writeReference(db, payment, {
      reference: remote.id,
      nextSyncAt: nextSyncAt({ ...payment, reference: remote.id }, at),
    }),
  );
  return remote;
}

async function askVendor(ctx: Context, open: OpenGateway, payment: Payment): Promise<ReadRemote | undefined> {
  const method = await findMethod(ctx.db, { customerId: payment.customerId, id: payment.methodId ?? 0n });
  if (!method) return fail(ctx, payment, 'The saved payment method is not there any more.');
  const data = unsealMethod(ctx.installation.secret, method.uid, method.sealedData);
  const intent = await intentForGateway(ctx, payment);
  try {
    return readRemote([ctx, open], await open.call(async (service) => service.createSubscription?.(intent, data)));
  } catch (error) {
    if (error instanceof GatewayError && error.kind === 'refused') return fail(ctx, payment, error.message);
    throw error;
  }
}

/** Nothing was begun at the vendor: it said so, or was not asked. */
async function fail(ctx: Context, key: Payment, reason: string): Promise<undefined> {
  await workOnCustomer({ ...ctx, viewer: null }, key.customerId, async (work) => {
    const payment = await findPayment(work.ctx.db, key);
    if (payment && isOpen(payment)) await failPayment(work, payment, { reason, isPermanent: true });
  });
}
