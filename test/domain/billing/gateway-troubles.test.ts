/** Payments through a gateway when something is wrong: bank debits, charges of which nobody knows anything, changed keys, refusals. */
import { beforeEach, expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { HOLD_KEY } from '../../../src/domain/accounts/installation-hold-read-model.ts';
import { disableCustomer } from '../../../src/domain/accounts/set-customer-status.ts';
import { chargeIntent } from '../../../src/domain/billing/saved-methods/charge-intent.ts';
import { claimPayment, recordPayment } from '../../../src/domain/billing/invoices/pay-invoice.ts';
import { renewSubscriptions } from '../../../src/domain/billing/subscriptions/renew-subscriptions.ts';
import { refreshInvoice, syncPayments } from '../../../src/domain/billing/payments/sync-payments.ts';
import { GatewayError } from '../../../src/plugin-api/index.ts';
import { creditOf, eventsOf, invoicesOf, openBillingWorld, subscriptionsOf } from '../../support/billing-world.ts';
import { gatewayScene } from '../../support/gateway-scene.ts';
import { PayVendor } from '../../support/pay-gateway.ts';

const IN_PROGRESS = { code: 'PAYMENT_IN_PROGRESS' };
const world = await openBillingWorld('2026-03-01T10:00:00Z');
const { admin, setClock: at } = world;
let vendor = new PayVendor();
const { gateway, system, dueCustomer, start, begin, ...scene } = await gatewayScene(world, () => vendor);
type Due = Awaited<ReturnType<typeof dueCustomer>>;

beforeEach(async () => {
  vendor = new PayVendor();
  at('2026-03-01T10:00:00Z');
  await scene.nothingDue();
});

/** Has paid for March, and let the vendor save the card; it is April now. */
async function customerWithCard() {
  at('2026-03-01T10:00:00Z');
  const customer = await scene.customerWithCard();
  at('2026-04-01T10:00:01Z');
  return customer;
}

/** The renewal of its plan, and the intent that charges the card; '' when there is none. */
async function renewalOf(customer: Due) {
  await renewSubscriptions(system);
  const due = (await invoicesOf(world, customer.id)).at(-1) ?? customer.due;
  const [intent] = await world.rows<{ uid: string }>(
    sql`SELECT uid FROM payment_intent WHERE customer_id = ${customer.id} AND method_id IS NOT NULL`,
  );
  return { ...customer, due, intentUid: intent?.uid ?? '' };
}

/** The latest payment of its latest invoice. */
async function latest({ id }: Pick<Due, 'id'>) {
  const [row] = await world.rows<{ status: string; reason: string | null; error: string | null; invoice: string }>(
    sql`SELECT p.status, p.reason, p.sync_error AS error, i.status AS invoice
          FROM payment_intent p JOIN invoice i ON i.customer_id = p.customer_id AND i.id = p.invoice_id
         WHERE p.customer_id = ${id} ORDER BY p.id DESC LIMIT 1`,
  );
  return row;
}

async function methodsOf({ id }: Pick<Due, 'id'>) {
  return world.rows<{ title: string }>(sql`SELECT title FROM payment_method WHERE customer_id = ${id}`);
}

const lost = () => {
  throw new GatewayError('unavailable', 'The connection was cut.');
};

test('a copy that is on hold leaves no charge behind for the time after the hold; the renewal is paid on the page', async () => {
  const customer = await customerWithCard();
  await admin.db.execute(
    sql`INSERT INTO setting (key, value) VALUES (${HOLD_KEY}, '{"since": "2026-04-01T10:00:00Z"}')`,
  );
  const held = await renewalOf(customer).finally(() =>
    admin.db.execute(sql`DELETE FROM setting WHERE key = ${HOLD_KEY}`),
  );
  expect(held.due.uid).not.toBe(customer.due.uid);
  expect(held.intentUid).toBe('');
  await renewSubscriptions(system);
  expect((await renewalOf(customer)).intentUid).toBe('');
  (await begin(held)).object.status = 'SUCCEEDED';
  await refreshInvoice(held.ctx, { uid: held.due.uid });
  expect(await latest(customer)).toMatchObject({ status: 'SUCCEEDED', invoice: 'paid' });
});

test('a bank debit that is under way is no checkout that was left: nothing takes its place, and the plan stays', async () => {
  const customer = await customerWithCard();
  await admin.db.execute(sql`DELETE FROM payment_method WHERE customer_id = ${customer.id}`);
  const renewal = await renewalOf(customer);
  const { object } = await begin(renewal);
  object.isProcessing = true;
  await refreshInvoice(renewal.ctx, { uid: renewal.due.uid });
  for (const day of ['2026-04-02', '2026-04-20', '2026-06-01']) {
    at(`${day}T12:00:00Z`);
    await syncPayments(system);
    await renewSubscriptions(system);
    await expect(start(renewal)).rejects.toMatchObject(IN_PROGRESS);
    await expect(claimPayment(renewal.ctx, { invoiceUid: renewal.due.uid })).rejects.toMatchObject(IN_PROGRESS);
    expect(await latest(customer)).toMatchObject({ status: 'PENDING', invoice: 'pending' });
    expect(await subscriptionsOf(world, customer.id)).toMatchObject([{ status: 'active' }]);
  }
  Object.assign(object, { status: 'SUCCEEDED', isProcessing: false });
  at('2026-06-01T14:00:00Z');
  await syncPayments(system);
  expect(await latest(customer)).toMatchObject({ status: 'SUCCEEDED', invoice: 'paid' });
});

test.each<[string, (renewal: { intentUid: string }) => unknown]>([
  ['the vendor is down', () => vendor.failures.set('read', new GatewayError('unavailable', 'It is down.'))],
  [
    'the vendor speaks of another intent',
    () => [...vendor.objects.values()].forEach((object) => (object.intentUid = '0123456789abc')),
  ],
  ['the vendor does not know the charge', () => vendor.objects.clear()],
])('a charge of which nobody knows anything ends after a week: %s', async (_name, breakIt) => {
  const customer = await customerWithCard();
  const renewal = await renewalOf(customer);
  vendor.afterCharge = lost;
  await expect(chargeIntent(system, renewal)).rejects.toThrow('cut');
  breakIt(renewal);
  at('2026-04-07T10:00:00Z');
  await syncPayments(system);
  await expect(start(renewal)).rejects.toMatchObject(IN_PROGRESS);
  at('2026-04-08T11:00:01Z');
  await syncPayments(system);
  expect(await latest(customer)).toMatchObject({ status: 'CANCELLED', invoice: 'pending', error: expect.any(String) });
  vendor.failures.clear();
  (await begin(renewal)).object.status = 'SUCCEEDED';
  await refreshInvoice(renewal.ctx, { uid: renewal.due.uid });
  expect(await latest(customer)).toMatchObject({ status: 'SUCCEEDED', invoice: 'paid' });
});

test('a charge that was never confirmed ends after a day, and the customer can pay on the page', async () => {
  const customer = await customerWithCard();
  const renewal = await renewalOf(customer);
  vendor.failures.set('charge', new GatewayError('unavailable', 'It is down.'));
  await expect(chargeIntent(system, renewal)).rejects.toThrow('down');
  at('2026-04-02T09:00:00Z');
  await syncPayments(system);
  expect(await latest(customer)).toMatchObject({ status: 'PENDING' });
  at('2026-04-02T11:00:02Z');
  await syncPayments(system);
  expect(await latest(customer)).toMatchObject({ status: 'CANCELLED' });
  await begin(renewal);
});

test('an administrator records money also while a charge is under way; what the charge brings becomes credit', async () => {
  const customer = await customerWithCard();
  const renewal = await renewalOf(customer);
  vendor.afterCharge = lost;
  await expect(chargeIntent(system, renewal)).rejects.toThrow('cut');
  await recordPayment(admin, { invoiceUid: renewal.due.uid });
  at('2026-04-02T10:00:00Z');
  await syncPayments(system);
  expect(await latest(customer)).toMatchObject({ status: 'SUCCEEDED', invoice: 'paid' });
  expect(await creditOf(world, customer.id)).toBe(1_000n);
});

test("a disabled customer's card is not charged: neither when the renewal is written nor when the job comes later", async () => {
  const [before, after] = [await customerWithCard(), await customerWithCard()];
  await disableCustomer(admin, { uid: before.uid });
  expect((await renewalOf(before)).intentUid).toBe('');
  const renewal = await renewalOf(after);
  expect(renewal.intentUid).not.toBe('');
  await disableCustomer(admin, { uid: after.uid });
  await chargeIntent(system, renewal);
  expect(vendor.calls).not.toContain('charge');
  expect(await latest(after)).toMatchObject({ status: 'PENDING', invoice: 'pending' });
});

test('a charge whose plugin is gone has failed only if it was never begun; else the sync finds what was paid', async () => {
  const inactive = sql`UPDATE payment_gateway SET type = 'gone-pay' WHERE uid = ${gateway.uid}`;
  const active = sql`UPDATE payment_gateway SET type = 'acme-pay' WHERE uid = ${gateway.uid}`;
  const [charged, unbegun] = [await customerWithCard(), await customerWithCard()];
  const [renewal, other] = [await renewalOf(charged), await renewalOf(unbegun)];
  vendor.afterCharge = lost;
  await expect(chargeIntent(system, renewal)).rejects.toThrow('cut');
  await admin.db.execute(inactive);
  try {
    await expect(chargeIntent(system, renewal)).rejects.toThrow('may have been charged');
    await chargeIntent(system, other);
  } finally {
    await admin.db.execute(active);
  }
  expect(await latest(charged)).toMatchObject({ status: 'PENDING' });
  expect(await latest(unbegun)).toMatchObject({ status: 'FAILED', reason: expect.stringContaining('not there') });
  expect(await eventsOf(world, unbegun.id)).toContain('payment_failed');
  at('2026-04-01T11:00:00Z');
  await syncPayments(system);
  expect(await latest(charged)).toMatchObject({ status: 'SUCCEEDED', invoice: 'paid' });
});

test('a checkout that the vendor does not know after a change of keys is cancelled, and another one can be begun', async () => {
  const customer = await dueCustomer();
  const { object: first } = await begin(customer);
  vendor.objects.delete(first.id);
  const { object: second } = await begin(customer);
  expect(second).not.toBe(first);
  second.status = 'SUCCEEDED';
  at('2026-03-01T10:05:00Z');
  await syncPayments(system);
  expect(await latest(customer)).toMatchObject({ status: 'SUCCEEDED', invoice: 'paid' });
});

test.each(['create', 'charge'])('a charge that the vendor refuses (%s) has failed with its reason', async (step) => {
  const customer = await customerWithCard();
  const renewal = await renewalOf(customer);
  vendor.failures.set(step, new GatewayError('refused', 'This card is not known.'));
  await chargeIntent(system, renewal);
  expect(await latest(customer)).toMatchObject({ status: 'FAILED', reason: 'This card is not known.' });
  expect((await eventsOf(world, customer.id)).at(-1)).toBe('payment_failed');
  vendor.failures.clear();
  await begin(renewal);
});

test('a refusal of a repeated charge does not hide that the first one has paid, or is under way', async () => {
  const customer = await customerWithCard();
  const renewal = await renewalOf(customer);
  vendor.chargeResult = 'PENDING';
  vendor.afterCharge = () => {
    throw new GatewayError('refused', 'It was charged before.');
  };
  const object = () => [...vendor.objects.values()].at(-1);
  vendor.failures.set('charge', new GatewayError('unavailable', 'It is down.'));
  await expect(chargeIntent(system, renewal)).rejects.toThrow('down');
  vendor.failures.clear();
  Object.assign(object() ?? {}, { isProcessing: true });
  await chargeIntent(system, renewal);
  expect(await latest(customer)).toMatchObject({ status: 'PENDING' });
  Object.assign(object() ?? {}, { status: 'SUCCEEDED' });
  await chargeIntent(system, renewal);
  expect(await latest(customer)).toMatchObject({ status: 'SUCCEEDED', invoice: 'paid' });
});

test.each<[string, number, () => void]>([
  [
    'texts that are too long',
    0,
    () => Object.assign([...vendor.objects.values()].at(-1) ?? {}, { card: 'x'.repeat(5_000) }),
  ],
  ['a name that no database stores', 1, () => (vendor.title = 'Vi\0sa')],
  [
    'a plugin that fails',
    0,
    () => (vendor.afterRead = () => void vendor.failures.set('factory', new Error('Broken.'))),
  ],
])('a saved method with %s does not stop the recording of paid money', async (_name, methods, breakIt) => {
  const customer = await dueCustomer();
  Object.assign((await begin(customer)).object, { status: 'SUCCEEDED', saves: true });
  breakIt();
  await refreshInvoice(customer.ctx, { uid: customer.due.uid });
  expect(await latest(customer)).toMatchObject({ status: 'SUCCEEDED', invoice: 'paid', error: null });
  expect(await methodsOf(customer)).toHaveLength(methods);
});

test('a charge is not cancelled because the vendor says so once; said again an hour later it is, and is tried again', async () => {
  const customer = await customerWithCard();
  const renewal = await renewalOf(customer);
  vendor.failures.set('charge', new GatewayError('unavailable', 'It is down.'));
  await expect(chargeIntent(system, renewal)).rejects.toThrow('down');
  vendor.failures.clear();
  const object = [...vendor.objects.values()].at(-1) ?? { status: 'PENDING' };
  const said = async (moment: string, status: 'CANCELLED' | 'PENDING') => {
    at(moment);
    object.status = status;
    await syncPayments(system);
    return (await latest(customer))?.status;
  };
  expect(await said('2026-04-01T10:05:00Z', 'CANCELLED')).toBe('PENDING');
  expect(await said('2026-04-01T10:50:00Z', 'CANCELLED')).toBe('PENDING');
  await expect(start(renewal)).rejects.toMatchObject(IN_PROGRESS);
  // Another answer between them: the first was a mistake.
  expect(await said('2026-04-01T11:10:00Z', 'PENDING')).toBe('PENDING');
  expect(await said('2026-04-01T11:30:00Z', 'CANCELLED')).toBe('PENDING');
  expect(await said('2026-04-01T12:20:00Z', 'CANCELLED')).toBe('PENDING');
  expect(await said('2026-04-01T12:31:00Z', 'CANCELLED')).toBe('CANCELLED');
  const [invoice] = await world.rows<{ next: Date | null }>(
    sql`SELECT next_charge_at AS next FROM invoice WHERE uid = ${renewal.due.uid}`,
  );
  expect(invoice?.next).toEqual(new Date('2026-04-02T10:00:01Z'));
});
