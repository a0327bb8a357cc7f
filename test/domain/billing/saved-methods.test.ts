/** Saved payment methods: who sees them, which is used, and what removing one does here and at the vendor. */
import { beforeEach, expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { HOLD_KEY } from '../../../src/domain/accounts/installation-hold-read-model.ts';
import { chargeIntent } from '../../../src/domain/billing/saved-methods/charge-intent.ts';
import { closePayments } from '../../../src/domain/billing/payments/close-payments.ts';
import { paymentMethods } from '../../../src/domain/billing/saved-methods/list-methods.ts';
import { digestOf } from '../../../src/domain/billing/saved-methods/method-digest.ts';
import { removeMethodLater, removePaymentMethod } from '../../../src/domain/billing/saved-methods/remove-method.ts';
import { renewSubscriptions } from '../../../src/domain/billing/subscriptions/renew-subscriptions.ts';
import { retryCharges } from '../../../src/domain/billing/saved-methods/retry-charges.ts';
import { syncPayments } from '../../../src/domain/billing/payments/sync-payments.ts';
import { queuedJobs } from '../../../src/jobs/queue-internals-store.ts';
import { GatewayError } from '../../../src/plugin-api/index.ts';
import { invoicesOf, openBillingWorld } from '../../support/billing-world.ts';
import { gatewayScene } from '../../support/gateway-scene.ts';
import { PayVendor } from '../../support/pay-gateway.ts';

const world = await openBillingWorld('2026-03-01T10:00:00Z');
const { admin, setClock: at } = world;
let vendor = new PayVendor();
const { gateway, system, customerWithCard, ...scene } = await gatewayScene(world, () => vendor);
type Customer = Awaited<ReturnType<typeof customerWithCard>>;

beforeEach(async () => {
  vendor = new PayVendor();
  at('2026-03-01T10:00:00Z');
  await scene.nothingDue();
});

async function methodOf({ ctx }: Customer): Promise<string> {
  const [method] = await paymentMethods(ctx, null);
  return method?.uid ?? '';
}

/** As the worker does. */
async function removeJobs({ id }: Customer, isLastTry = false): Promise<number> {
  const jobs = await world.rows<{ uid: string }>(
    sql`SELECT j.payload ->> 'methodUid' AS uid FROM ${queuedJobs} j
         WHERE j.name = 'billing.remove-method' AND j.payload ->> 'customerId' = ${String(id)}`,
  );
  for (const { uid } of jobs) await removeMethodLater(system, { customerId: id, methodUid: uid, isLastTry });
  return jobs.length;
}

async function charges({ id }: Customer) {
  return world.rows<{ uid: string; status: string }>(
    sql`SELECT uid, status FROM payment_intent WHERE customer_id = ${id} AND method_id IS NOT NULL ORDER BY id`,
  );
}

test('a customer sees its own methods and which is used; an administrator those of any customer; others nothing', async () => {
  const [customer, other] = [await customerWithCard(), await customerWithCard()];
  expect(await paymentMethods(customer.ctx, null)).toEqual([
    {
      ...{ uid: expect.any(String), title: 'Visa', info: 'ends in 4242', isUsed: true, paysRemote: false },
      ...{ gatewayUid: gateway.uid, gatewayName: 'Card', gatewayType: 'acme-pay', createdAt: expect.any(Date) },
    },
  ]);
  expect(await paymentMethods(admin, customer.uid)).toHaveLength(1);
  await expect(paymentMethods(other.ctx, customer.uid)).rejects.toMatchObject({ code: 'CUSTOMER_NOT_FOUND' });
  await expect(removePaymentMethod(other.ctx, { uid: await methodOf(customer) })).rejects.toMatchObject({
    code: 'PAYMENT_METHOD_NOT_FOUND',
  });
  await expect(removePaymentMethod(other.ctx, { uid: 'ffffffffffff0' })).rejects.toMatchObject({
    code: 'PAYMENT_METHOD_NOT_FOUND',
  });
  await admin.db.execute(sql`UPDATE payment_gateway SET status = 'inactive' WHERE uid = ${gateway.uid}`);
  expect(await paymentMethods(customer.ctx, null)).toMatchObject([{ isUsed: false }]);
  await admin.db.execute(sql`UPDATE payment_gateway SET status = 'active' WHERE uid = ${gateway.uid}`);
});

test.each(['customer', 'administrator'])(
  'removed by the %s: deleted at the vendor, and renewals are paid on the page',
  async (who) => {
    const customer = await customerWithCard();
    const uid = await methodOf(customer);
    await removePaymentMethod(who === 'customer' ? customer.ctx : admin, { uid });
    expect(await paymentMethods(customer.ctx, null)).toEqual([]);
    expect(vendor.removed).toEqual([]);
    expect(await removeJobs(customer)).toBe(1);
    expect(vendor.removed).toEqual(['card_1']);
    await removeJobs(customer);
    expect(vendor.removed).toEqual(['card_1']);
    await expect(removePaymentMethod(customer.ctx, { uid })).rejects.toMatchObject({
      code: 'PAYMENT_METHOD_NOT_FOUND',
    });
    at('2026-04-01T10:00:00Z');
    await renewSubscriptions(system);
    expect((await invoicesOf(world, customer.id)).at(-1)).toMatchObject({ kind: 'renewal', status: 'pending' });
    expect(await charges(customer)).toEqual([]);
  },
);

test('the vendor still names it in the state of the old payment: it does not come back', async () => {
  const customer = await customerWithCard();
  await removePaymentMethod(customer.ctx, { uid: await methodOf(customer) });
  await removeJobs(customer);
  await admin.db.execute(sql`UPDATE payment_intent SET next_sync_at = created_at WHERE customer_id = ${customer.id}`);
  const reads = vendor.calls.length;
  at('2026-03-02T10:00:00Z');
  await syncPayments(system);
  expect(vendor.calls.slice(reads)).toEqual(['read']);
  expect(await paymentMethods(customer.ctx, null)).toEqual([]);
  const [kept] = await world.rows<{ sealed: number; title: string }>(
    sql`SELECT length(sealed_data) AS sealed, title FROM payment_method WHERE customer_id = ${customer.id}`,
  );
  expect(kept).toEqual({ sealed: 0, title: '' });
});

/** The vendor's present state of the payment that saved the card. */
async function readAgain({ id }: Customer, changes: { expires?: string }): Promise<void> {
  for (const object of vendor.objects.values()) Object.assign(object, changes);
  await admin.db.execute(sql`UPDATE payment_intent SET next_sync_at = created_at WHERE customer_id = ${id}`);
  await syncPayments(system);
}

test('a card with another expiry date is the same one: what is shown changes, and what it was declined for is charged again', async () => {
  const customer = await customerWithCard();
  // As it was saved before methods were recognised by their id.
  await admin.db.execute(
    sql`UPDATE payment_method SET digest = ${digestOf({ card: 'card_1' })} WHERE customer_id = ${customer.id}`,
  );
  await readAgain(customer, {});
  const uid = await methodOf(customer);
  at('2026-04-01T10:00:00Z');
  await admin.db.execute(
    sql`UPDATE subscription SET next_step_at = current_period_ends_at WHERE customer_id = ${customer.id}`,
  );
  await renewSubscriptions(system);
  Object.assign(vendor, { chargeResult: 'FAILED', declinesForEver: true });
  await chargeIntent(system, { intentUid: (await charges(customer))[0]?.uid ?? '' });
  const nextCharge = () =>
    world.rows(sql`SELECT next_charge_at AS at FROM invoice WHERE customer_id = ${customer.id} AND status = 'pending'`);
  expect(await nextCharge()).toEqual([{ at: null }]);
  at('2026-04-01T12:00:00Z');
  await readAgain(customer, { expires: '12/2033' });
  expect(await paymentMethods(customer.ctx, null)).toMatchObject([{ uid, info: 'ends in 4242, 12/2033' }]);
  expect(await nextCharge()).toEqual([{ at: new Date('2026-04-01T12:00:00Z') }]);
  // The same once more is no news.
  await admin.db.execute(sql`UPDATE invoice SET next_charge_at = NULL`);
  await readAgain(customer, { expires: '12/2033' });
  expect(await nextCharge()).toEqual([{ at: null }]);
});

test('a removed card does not come back with another expiry date', async () => {
  const customer = await customerWithCard();
  await removePaymentMethod(customer.ctx, { uid: await methodOf(customer) });
  await removeJobs(customer);
  await readAgain(customer, { expires: '12/2033' });
  expect(await paymentMethods(customer.ctx, null)).toEqual([]);
});

test('a vendor that does not answer is asked again; after the last try the log says what it still has', async () => {
  const customer = await customerWithCard();
  await removePaymentMethod(customer.ctx, { uid: await methodOf(customer) });
  vendor.failures.set('remove', new GatewayError('unavailable', 'It is down.'));
  await expect(removeJobs(customer)).rejects.toThrow('down');
  const logged: string[] = [];
  const log = { ...system.log, error: (event: string) => void logged.push(event) };
  const [row] = await world.rows<{ uid: string }>(
    sql`SELECT uid FROM payment_method WHERE customer_id = ${customer.id}`,
  );
  const job = { customerId: customer.id, methodUid: row?.uid ?? '', isLastTry: true };
  await removeMethodLater({ ...system, log }, job);
  expect(logged).toEqual(['billing.method_left']);
  await removeMethodLater({ ...system, log }, job);
  expect(vendor.calls.filter((call) => call === 'remove')).toHaveLength(2);
});

test('a charge that waits is not made with a removed method, and a declined one is not tried again', async () => {
  const [waiting, declined] = [await customerWithCard(), await customerWithCard()];
  at('2026-04-01T10:00:00Z');
  await renewSubscriptions(system);
  vendor.chargeResult = 'FAILED';
  const [charge] = await charges(declined);
  await chargeIntent(system, { intentUid: charge?.uid ?? '' });
  for (const customer of [waiting, declined])
    await removePaymentMethod(customer.ctx, { uid: await methodOf(customer) });
  const made = vendor.calls.filter((call) => call === 'charge').length;
  await chargeIntent(system, { intentUid: (await charges(waiting))[0]?.uid ?? '' });
  at('2026-04-02T10:00:00Z');
  expect(await retryCharges(system)).toEqual({ begun: 0, failed: 0 });
  expect(vendor.calls.filter((call) => call === 'charge')).toHaveLength(made);
  expect([await charges(waiting), await charges(declined)]).toMatchObject([
    [{ status: 'FAILED' }],
    [{ status: 'FAILED' }],
  ]);
});

test('a customer that is deleted takes removed methods along that the vendor still has', async () => {
  const customer = await customerWithCard();
  await removePaymentMethod(customer.ctx, { uid: await methodOf(customer) });
  await closePayments(system, { customerId: customer.id, isLastTry: false });
  expect(vendor.removed).toEqual(['card_1']);
});

test('in a copy that is on hold nothing is removed: at the vendor it is the original’s', async () => {
  const customer = await customerWithCard();
  const uid = await methodOf(customer);
  await admin.db.execute(
    sql`INSERT INTO setting (key, value) VALUES (${HOLD_KEY}, '{"since": "2026-03-01T10:00:00Z"}')`,
  );
  await expect(removePaymentMethod(customer.ctx, { uid }))
    .rejects.toMatchObject({ code: 'INSTALLATION_ON_HOLD' })
    .finally(() => admin.db.execute(sql`DELETE FROM setting WHERE key = ${HOLD_KEY}`));
  expect(await methodOf(customer)).toBe(uid);
});
