/** A customer, or an administrator, begins a subscription at a vendor with a saved payment method: create-remote.ts asks the vendor. */
import type { Queryable } from '../../../db/database.ts';
import { newUid } from '../../../lib/ids.ts';
import { createRemoteJob } from '../../../jobs/billing-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import { installationHold } from '../../accounts/installation-hold-read-model.ts';
import type { Context } from '../../context.ts';
import { invoiceNotPending, onHold } from '../billing-errors.ts';
import { workOnCustomer, type BillingWork } from '../billing-work.ts';
import { endOpenTry } from '../payments/end-open-try.ts';
import { requireOffered } from '../gateways/offered-gateways.ts';
import { openGateway } from '../gateways/open-gateway.ts';
import { knownGateway } from '../gateways/save-gateway.ts';
import type { StoredGateway } from '../gateways/payment-gateway.ts';
import { findInvoice, type Invoice } from '../invoices/invoice-store.ts';
import { leaveOtherTry } from '../payments/leave-other-try.ts';
import { methodsOf } from '../saved-methods/payment-method-store.ts';
import { nextSyncAt, type Payment } from '../payments/payment-intent.ts';
import { findOpenPayment, insertPayment } from '../payments/payment-store.ts';
import { requireNoFreshDecline, requireTriesLeft } from '../payments/tries-left.ts';
import { visibleInvoice } from '../invoices/visible-invoice.ts';
import { remotePlanFor } from './begin-remote.ts';
import { noSavedMethod, notRemote } from './remote-errors.ts';

/**
 * Begins it; one that is under way is answered again. Throws WrongStateError `INVOICE_NOT_PENDING`, `REMOTE_SUBSCRIPTION_NOT_POSSIBLE`,
 * `PAYMENT_METHOD_MISSING`, `PAYMENT_AWAITS_APPROVAL`, `PAYMENT_IN_PROGRESS`, `INSTALLATION_ON_HOLD`, `TOO_MANY_PAYMENTS`; RateLimitedError
 * `PAYMENT_JUST_DECLINED`; ValidationError `PAYMENT_GATEWAY_NOT_OFFERED`; NotFoundError, ForeignResourceError.
 */
export async function startRemoteSubscription(
  ctx: Context,
  { invoiceUid, gatewayUid }: { invoiceUid: string; gatewayUid: string },
): Promise<Payment> {
  const found = await visibleInvoice(ctx, invoiceUid);
  if (found.status !== 'pending') throw invoiceNotPending(found.status);
  if (await installationHold(ctx.db)) throw onHold();
  const gateway = await knownGateway(ctx, gatewayUid);
  await requireOffered(ctx, gateway, found);
  if (!openGateway(ctx, gateway)?.can('createSubscription'))
    throw notRemote('This vendor begins subscriptions only on its own page: use the checkout of the invoice.');
  // Refused before anything is asked of a vendor: a checkout that is open must not be closed for nothing.
  await requireCard(ctx.db, found, gateway);
  const goesOn = await findOpenPayment(ctx.db, found);
  if (!goesOn || !isSame(goesOn, gateway)) await requireMayTry(ctx, found);
  await leaveOtherTry(ctx, found, (other) => isSame(other, gateway));
  return workOnCustomer(ctx, found.customerId, (work) => begin(work, found, gateway));
}

function isSame({ methodId, remotePlanId, gatewayId }: Payment, { id }: StoredGateway): boolean {
  return methodId !== null && remotePlanId !== null && gatewayId === id;
}

/** The vendor's plan, and the saved method that pays it. */
async function requireCard(db: Queryable, invoice: Invoice, gateway: StoredGateway) {
  const remote = await remotePlanFor(db, invoice, gateway);
  if ('refusal' in remote) throw notRemote(`A subscription cannot begin at the vendor: ${remote.refusal}`);
  const method = (await methodsOf(db, invoice.customerId)).find(({ gatewayId }) => gatewayId === gateway.id);
  if (!method) throw noSavedMethod();
  return { method, remotePlanId: remote.remotePlanId };
}

async function requireMayTry(ctx: Context, invoice: Invoice): Promise<void> {
  await requireTriesLeft(ctx.db, invoice);
  await requireNoFreshDecline(ctx, invoice);
}

async function begin(work: BillingWork, { customerId, id }: Invoice, gateway: StoredGateway): Promise<Payment> {
  const { ctx, at } = work;
  const invoice = await findInvoice(ctx.db, { customerId, id });
  if (invoice?.status !== 'pending') throw invoiceNotPending(invoice?.status ?? 'void');
  const open = await findOpenPayment(ctx.db, invoice);
  if (open && isSame(open, gateway)) return open;
  const { method, remotePlanId } = await requireCard(ctx.db, invoice, gateway);
  await requireMayTry(ctx, invoice);
  if (open) await endOpenTry(work, open, { reason: 'A subscription at the vendor was chosen.' });
  const fresh = { gatewayId: gateway.id, reference: null, status: 'PENDING', createdAt: at, decidedAt: null } as const;
  const payment = await insertPayment(ctx.db, invoice, {
    ...{ uid: newUid(), method: gateway.type, gatewayId: gateway.id, methodId: method.id, at },
    ...{ remotePlanId, nextSyncAt: nextSyncAt(fresh, at) },
  });
  const payload = { customerId: String(customerId), intentUid: payment.uid };
  await enqueue(ctx.db, createRemoteJob, payload, { key: `create-remote:${payment.uid}` });
  return payment;
}
