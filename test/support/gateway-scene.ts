/** Customers who pay through the gateway of pay-gateway.ts, without a browser. */
import { expect } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { changePlan } from '../../src/domain/billing/subscriptions/change-plan.ts';
import { createGateway } from '../../src/domain/billing/gateways/save-gateway.ts';
import { openCheckout, saveReference } from '../../src/domain/billing/payments/open-checkout.ts';
import { startPayment } from '../../src/domain/billing/payments/start-payment.ts';
import { refreshInvoice } from '../../src/domain/billing/payments/sync-payments.ts';
import type { Context } from '../../src/domain/context.ts';
import type { BillingWorld } from './billing-world.ts';
import { usePayGateway, type PayVendor } from './pay-gateway.ts';

/** Whose invoice is to be paid. */
interface Payer {
  readonly ctx: Context;
  readonly due: { readonly uid: string };
}

/** Sets up the gateway and a plan of 10 EUR; each use of the gateway asks which vendor it is. */
export async function gatewayScene(world: BillingWorld, vendor: () => PayVendor) {
  usePayGateway(world.hooks, vendor);
  const { admin } = world;
  const system = { ...admin, viewer: null };
  const gateway = await createGateway(admin, { name: 'Card', type: 'acme-pay', settings: { key: 'sk_1' } });
  const plan = await world.newPlan('10');

  /** A customer whose first invoice waits. */
  async function dueCustomer(planUid = plan.uid) {
    const customer = await world.newCustomer();
    const { due } = await changePlan(customer.ctx, { planUid });
    if (!due) throw new Error('Nothing is due.');
    return { ...customer, due };
  }

  const start = ({ ctx, due }: Payer) => startPayment(ctx, { invoiceUid: due.uid, gatewayUid: gateway.uid });

  /** Goes to the vendor, as the plugin's route does. */
  async function begin(payer: Payer) {
    const { path } = await start(payer);
    const token = path.split('/').at(-1) ?? '';
    const own = { ...payer.ctx, viewer: null };
    const checkout = await openCheckout(own, 'acme/pay', token);
    if (!checkout) throw new Error('The token does not work.');
    const { uid: intentUid, amountMinor, currencyCode } = checkout.intent;
    const object = vendor().create(`checkout-${intentUid}`, { intentUid, amountMinor, currencyCode });
    expect(await saveReference(own, 'acme/pay', { intentUid, reference: object.id })).toBe(true);
    return { object, intentUid, token };
  }

  /** Has paid once, and let the vendor save the card. */
  async function customerWithCard() {
    const customer = await dueCustomer();
    const { object } = await begin(customer);
    Object.assign(object, { status: 'SUCCEEDED', saves: true });
    await refreshInvoice(customer.ctx, { uid: customer.due.uid });
    return customer;
  }

  /** Each test is about its own payments: those of tests before are not read, renewed or tried again. */
  async function nothingDue(): Promise<void> {
    await admin.db.execute(sql`UPDATE payment_intent SET next_sync_at = NULL`);
    await admin.db.execute(sql`UPDATE subscription SET next_step_at = NULL`);
    await admin.db.execute(sql`UPDATE invoice SET next_charge_at = NULL`);
  }

  return { gateway, system, dueCustomer, start, begin, customerWithCard, nothingDue };
}
