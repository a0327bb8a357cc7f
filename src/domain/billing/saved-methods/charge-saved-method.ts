/** Begins a charge of a saved payment method while the customer is away; the job of charge-intent.ts makes it. */
import { installationHold, mayBeDoneElsewhere } from '../../accounts/installation-hold-read-model.ts';
import { newUid } from '../../../lib/ids.ts';
import { chargeIntentJob } from '../../../jobs/billing-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import type { Context } from '../../context.ts';
import type { BillingWork } from '../billing-work.ts';
import { offeredGateways } from '../gateways/offered-gateways.ts';
import type { Invoice } from '../invoices/invoice-store.ts';
import { nextSyncAt, type Payment } from '../payments/payment-intent.ts';
import type { StoredGateway } from '../gateways/payment-gateway.ts';
import { methodsOf, type StoredMethod } from './payment-method-store.ts';
import { findOpenPayment, insertPayment } from '../payments/payment-store.ts';

/**
 * Begins to charge the customer's newest saved method that may pay this invoice: an intent, and the job that charges it, in the transaction
 * of the invoice. Undefined: there is none, another payment is open, the customer is disabled, or the installation is on hold, or was when the
 * period began. A restored copy must not charge for a period that the original has charged: the customer pays on the page.
 */
export async function chargeSavedMethod(work: BillingWork, invoice: Invoice): Promise<Payment | undefined> {
  const { ctx, at } = work;
  if (work.customer.status !== 'active' || (await installationHold(ctx.db))) return undefined;
  if (await mayBeDoneElsewhere(ctx.db, invoice.periodStartsAt ?? invoice.createdAt)) return undefined;
  if (await findOpenPayment(ctx.db, invoice)) return undefined;
  const { method, gateway } = (await chargedMethod(ctx, invoice)) ?? {};
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

/** The method that is charged for invoices of this plan and currency: the customer's newest one of a gateway that may be used for them. */
export async function chargedMethod(
  ctx: Context,
  invoice: Pick<Invoice, 'customerId' | 'planId' | 'currencyCode'>,
): Promise<{ readonly method: StoredMethod; readonly gateway: StoredGateway } | undefined> {
  const methods = await methodsOf(ctx.db, invoice.customerId);
  if (methods.length === 0) return undefined;
  const gateways = await offeredGateways(ctx, invoice);
  for (const method of methods) {
    const gateway = gateways.find(({ id }) => id === method.gatewayId);
    if (gateway) return { method, gateway };
  }
  return undefined;
}
