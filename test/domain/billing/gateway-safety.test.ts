/** Payments through gateways on a bad day: a closed tab at the end of grace, a deleted customer, a restored copy. */
import { beforeEach, expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { deleteCustomer } from '../../../src/domain/accounts/delete-customer.ts';
import { HOLD_KEY } from '../../../src/domain/accounts/installation-hold-read-model.ts';
import { cancelIntent } from '../../../src/domain/billing/payments/cancel-intent.ts';
import { changePlan } from '../../../src/domain/billing/subscriptions/change-plan.ts';
import { createGateway } from '../../../src/domain/billing/gateways/save-gateway.ts';
import { openCheckout, saveReference } from '../../../src/domain/billing/payments/open-checkout.ts';
import { renewSubscriptions } from '../../../src/domain/billing/subscriptions/renew-subscriptions.ts';
import { startPayment } from '../../../src/domain/billing/payments/start-payment.ts';
import { refreshInvoice, syncPayments } from '../../../src/domain/billing/payments/sync-payments.ts';
import { removeCustomer } from '../../../src/domain/campaigns/remove-customer.ts';
import { invoicesOf, openBillingWorld, subscriptionsOf } from '../../support/billing-world.ts';
import { PayVendor, usePayGateway } from '../../support/pay-gateway.ts';

const world = await openBillingWorld('2026-03-01T10:00:00Z');
const { admin } = world;
const system = { ...admin, viewer: null };
let vendor = new PayVendor();
usePayGateway(world.hooks, () => vendor);
const gateway = await createGateway(admin, { name: 'Card', type: 'acme-pay', settings: { key: 'sk_1' } });
const plan = await world.newPlan('10');

beforeEach(() => {
  vendor = new PayVendor();
  world.setClock('2026-03-01T10:00:00Z');
});

/** The token of the customer's way to the vendor for this invoice. */
async function tokenFor(ctx: typeof admin, invoiceUid: string): Promise<string> {
  const { path } = await startPayment(ctx, { invoiceUid, gatewayUid: gateway.uid });
  return path.split('/').at(-1) ?? '';
}

/** At the vendor's page. */
async function atVendor(ctx: typeof admin, invoiceUid: string) {
  const checkout = await openCheckout(system, 'acme/pay', await tokenFor(ctx, invoiceUid));
  if (!checkout) throw new Error('The token does not work.');
  const { uid, amountMinor, currencyCode } = checkout.intent;
  const object = vendor.create(`checkout-${uid}`, { intentUid: uid, amountMinor, currencyCode });
  await saveReference(system, 'acme/pay', { intentUid: uid, reference: object.id });
  return { object, intentUid: uid };
}

/** A customer with a plan in force, and its next invoice at the vendor's page. */
async function renewing() {
  const customer = await world.newCustomer();
  const { due } = await changePlan(customer.ctx, { planUid: plan.uid });
  const first = await atVendor(customer.ctx, due?.uid ?? '');
  Object.assign(first.object, { status: 'SUCCEEDED' });
  await refreshInvoice(customer.ctx, { uid: due?.uid ?? '' });
  world.setClock('2026-04-01T10:00:01Z');
  await renewSubscriptions(system);
  const renewal = (await invoicesOf(world, customer.id)).find(({ status }) => status === 'pending');
  return { ...customer, ...(await atVendor(customer.ctx, String(renewal?.uid))) };
}

async function afterGrace({ id }: { id: bigint }, ms: number): Promise<string> {
  const [row] = await world.rows<{ end: Date }>(
    sql`SELECT grace_ends_at AS "end" FROM subscription WHERE customer_id = ${id}`,
  );
  if (!row) throw new Error('There is no grace.');
  return new Date(row.end.getTime() + ms).toISOString();
}

/** As in a restored copy. */
async function onHold(act: () => Promise<void>): Promise<void> {
  await admin.db.execute(
    sql`INSERT INTO setting (key, value) VALUES (${HOLD_KEY}, '{"since": "2026-04-01T10:00:00Z"}')`,
  );
  try {
    await act();
  } finally {
    await admin.db.execute(sql`DELETE FROM setting WHERE key = ${HOLD_KEY}`);
  }
}

test('who paid while we were down keeps the plan, although the grace has ended meanwhile', async () => {
  const customer = await renewing();
  Object.assign(customer.object, { status: 'SUCCEEDED' });
  // We are back: the renewals run before the sync.
  world.setClock(await afterGrace(customer, 60_000));
  await renewSubscriptions(system);
  expect(await subscriptionsOf(world, customer.id)).toMatchObject([{ status: 'active' }]);
  await syncPayments(system);
  await renewSubscriptions(system);
  expect(await subscriptionsOf(world, customer.id)).toMatchObject([
    { status: 'active', periodEndsAt: new Date('2026-05-01T10:00:00Z') },
  ]);
});

test('a vendor that says "not paid", or that nobody can ask, keeps no plan', async () => {
  const customer = await renewing();
  world.setClock(await afterGrace(customer, 7 * 3_600_000));
  await renewSubscriptions(system);
  expect(await subscriptionsOf(world, customer.id)).toMatchObject([{ status: 'ended' }]);
});

test('of a deleted customer nothing can be begun, and nothing stays payable that was begun', async () => {
  const customer = await renewing();
  const begun = await world.newCustomer();
  const { due } = await changePlan(begun.ctx, { planUid: plan.uid });
  const token = await tokenFor(begun.ctx, due?.uid ?? '');
  for (const { uid } of [customer, begun]) await deleteCustomer(admin, { uid });
  expect(await openCheckout(system, 'acme/pay', token)).toBeUndefined();
  const { signal: abortSignal } = new AbortController();
  for (const { id } of [customer, begun]) await removeCustomer(system, { customerId: id, abortSignal });
  expect(customer.object.status).toBe('CANCELLED');
});

test('a restored copy asks nothing of the vendor: its objects are the original’s', async () => {
  const customer = await renewing();
  const { intentUid } = customer;
  await admin.db.execute(sql`UPDATE payment_intent SET next_sync_at = '2025-01-01' WHERE uid = ${intentUid}`);
  const calls = vendor.calls.length;
  await onHold(async () => {
    expect(await syncPayments(system)).toEqual({ read: 0 });
    const renewal = (await invoicesOf(world, customer.id)).find(({ status }) => status === 'pending');
    await expect(tokenFor(customer.ctx, String(renewal?.uid))).rejects.toMatchObject({ code: 'INSTALLATION_ON_HOLD' });
    await admin.db.execute(sql`UPDATE payment_intent SET status = 'CANCELLED' WHERE uid = ${intentUid}`);
    await expect(cancelIntent(system, { intentUid })).rejects.toMatchObject({ code: 'INSTALLATION_ON_HOLD' });
    await deleteCustomer(admin, { uid: customer.uid });
    const { signal: abortSignal } = new AbortController();
    await expect(removeCustomer(system, { customerId: customer.id, abortSignal })).rejects.toMatchObject({
      code: 'INSTALLATION_ON_HOLD',
    });
  });
  expect(vendor.calls).toHaveLength(calls);
});
