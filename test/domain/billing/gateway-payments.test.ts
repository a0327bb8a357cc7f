/** Payments through a gateway: the vendor's state is read, compared and applied once, whatever happens in between. */
import { beforeEach, expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { HOLD_KEY } from '../../../src/domain/accounts/installation-hold-read-model.ts';
import { deleteCustomer } from '../../../src/domain/accounts/delete-customer.ts';
import { removeCustomer } from '../../../src/domain/campaigns/remove-customer.ts';
import { cancelIntent } from '../../../src/domain/billing/payments/cancel-intent.ts';
import { chargeIntent } from '../../../src/domain/billing/saved-methods/charge-intent.ts';
import { deleteGateway } from '../../../src/domain/billing/gateways/delete-gateway.ts';
import { createGateway, updateGateway } from '../../../src/domain/billing/gateways/save-gateway.ts';
import { openCheckout, saveReference } from '../../../src/domain/billing/payments/open-checkout.ts';
import { approvePayment, claimPayment, recordPayment } from '../../../src/domain/billing/invoices/pay-invoice.ts';
import { renewSubscriptions } from '../../../src/domain/billing/subscriptions/renew-subscriptions.ts';
import { startPayment } from '../../../src/domain/billing/payments/start-payment.ts';
import { refreshInvoice, syncPayments } from '../../../src/domain/billing/payments/sync-payments.ts';
import { updatePlan } from '../../../src/domain/billing/plans/update-plan.ts';
import { ValidationError } from '../../../src/lib/errors.ts';
import { GatewayError } from '../../../src/plugin-api/index.ts';
import {
  creditOf,
  eventsOf,
  historyOf,
  invoicesOf,
  openBillingWorld,
  subscriptionsOf,
} from '../../support/billing-world.ts';
import { gatewayScene } from '../../support/gateway-scene.ts';
import { PayVendor } from '../../support/pay-gateway.ts';

const world = await openBillingWorld('2026-03-01T10:00:00Z');
const { admin } = world;
let vendor = new PayVendor();
// One registration, whose vendor is a fresh one in each test.
const { gateway, system, dueCustomer, begin, customerWithCard } = await gatewayScene(world, () => vendor);
type Due = Awaited<ReturnType<typeof dueCustomer>>;

beforeEach(() => {
  vendor = new PayVendor();
  world.setClock('2026-03-01T10:00:00Z');
});

async function chargedIntent({ id }: Pick<Due, 'id'>): Promise<string> {
  const [intent] = await world.rows<{ uid: string }>(
    sql`SELECT uid FROM payment_intent WHERE customer_id = ${id} AND method_id IS NOT NULL`,
  );
  return intent?.uid ?? '';
}

const statusesOf = async ({ due }: Pick<Due, 'due'>) =>
  (
    await world.rows<{ status: string }>(
      sql`SELECT p.status FROM payment_intent p JOIN invoice i ON i.customer_id = p.customer_id AND i.id = p.invoice_id
           WHERE i.uid = ${due.uid} ORDER BY p.id`,
    )
  ).map(({ status }) => status);
const invoiceStatus = async ({ id, due }: Due) =>
  (await invoicesOf(world, id)).find(({ uid }) => uid === due.uid)?.status;
const at = (moment: string) => world.setClock(moment);

test('what was paid at the vendor is found by the periodic sync, once, and the plan starts', async () => {
  const customer = await dueCustomer();
  const { object } = await begin(customer);
  object.status = 'SUCCEEDED';
  at('2026-03-01T10:02:00Z');
  await Promise.all(Array.from({ length: 50 }, () => syncPayments(system)));
  expect(await statusesOf(customer)).toEqual(['SUCCEEDED']);
  expect(await invoiceStatus(customer)).toBe('paid');
  expect(await eventsOf(world, customer.id)).toEqual(['created', 'started']);
  expect(await creditOf(world, customer.id)).toBe(0n);
});

test('beginning to pay asks the vendor for nothing, and is continued when it is repeated', async () => {
  const customer = await dueCustomer();
  const given = { invoiceUid: customer.due.uid, gatewayUid: gateway.uid };
  const first = await startPayment(customer.ctx, given);
  const second = await startPayment(customer.ctx, given);
  expect(second.payment?.uid).toBe(first.payment?.uid);
  expect(vendor.calls).toEqual([]);
});

test.each([
  ['another amount', { amountMinor: 999n }],
  ['another currency', { currencyCode: 'JPY' }],
  ['another intent', { intentUid: '0123456789abc' }],
  ['no intent', { intentUid: null }],
])('a vendor object with %s pays nothing, and the operator sees why', async (_name, wrong) => {
  const customer = await dueCustomer();
  const { object } = await begin(customer);
  Object.assign(object, wrong, { status: 'SUCCEEDED' });
  await refreshInvoice(customer.ctx, { uid: customer.due.uid });
  expect(await statusesOf(customer)).toEqual(['PENDING']);
  expect(await invoiceStatus(customer)).toBe('pending');
  const [row] = await world.rows<{ error: string }>(
    sql`SELECT sync_error AS error FROM payment_intent WHERE customer_id = ${customer.id}`,
  );
  expect(row?.error).toContain('vendor');
});

test('a refused payment fails, and the next try pays', async () => {
  const customer = await dueCustomer();
  const first = await begin(customer);
  first.object.status = 'FAILED';
  await refreshInvoice(customer.ctx, { uid: customer.due.uid });
  const second = await begin(customer);
  second.object.status = 'SUCCEEDED';
  await refreshInvoice(customer.ctx, { uid: customer.due.uid });
  expect(await statusesOf(customer)).toEqual(['FAILED', 'SUCCEEDED']);
  expect(await eventsOf(world, customer.id)).toEqual(['created', 'payment_failed', 'started']);
});

test('a late success pays its invoice if that is still open; the intent stays as it ended', async () => {
  const customer = await dueCustomer();
  const { object } = await begin(customer);
  object.status = 'FAILED';
  await refreshInvoice(customer.ctx, { uid: customer.due.uid });
  object.status = 'SUCCEEDED';
  at('2026-03-02T10:00:00Z');
  await Promise.all([syncPayments(system), syncPayments(system), syncPayments(system)]);
  expect(await statusesOf(customer)).toEqual(['FAILED']);
  expect(await invoiceStatus(customer)).toBe('paid');
  expect(await creditOf(world, customer.id)).toBe(0n);
});

test('a late success for an invoice that was paid in another way becomes credit, once', async () => {
  const customer = await dueCustomer();
  const { object } = await begin(customer);
  await recordPayment(admin, { invoiceUid: customer.due.uid });
  expect(await statusesOf(customer)).toEqual(['CANCELLED', 'SUCCEEDED']);
  object.status = 'SUCCEEDED';
  for (const day of ['02', '03', '04']) {
    at(`2026-03-${day}T10:00:00Z`);
    await syncPayments(system);
  }
  expect(await statusesOf(customer)).toEqual(['CANCELLED', 'SUCCEEDED']);
  expect(await creditOf(world, customer.id)).toBe(1_000n);
  expect(await eventsOf(world, customer.id)).toEqual(['created', 'started', 'payment_credited']);
});

test('money that was paid back before it was seen is no credit; a later refund is shown', async () => {
  const customer = await dueCustomer();
  const { object } = await begin(customer);
  await recordPayment(admin, { invoiceUid: customer.due.uid });
  Object.assign(object, { status: 'SUCCEEDED', refundedMinor: 400n });
  at('2026-03-02T10:00:00Z');
  await syncPayments(system);
  expect(await creditOf(world, customer.id)).toBe(600n);
  expect(await eventsOf(world, customer.id)).toContain('payment_refunded');
});

test('money that had become credit and is paid back is no credit any more, as far as it was not used', async () => {
  const customer = await dueCustomer();
  const { object } = await begin(customer);
  await recordPayment(admin, { invoiceUid: customer.due.uid });
  object.status = 'SUCCEEDED';
  at('2026-03-02T10:00:00Z');
  await syncPayments(system);
  expect(await creditOf(world, customer.id)).toBe(1_000n);
  const refundAt = async (moment: string, refundedMinor: bigint) => {
    object.refundedMinor = refundedMinor;
    at(moment);
    await Promise.all([syncPayments(system), syncPayments(system)]);
    return creditOf(world, customer.id);
  };
  expect(await refundAt('2026-03-20T10:00:00Z', 400n)).toBe(600n);
  // It pays a part of the renewal, which is used then.
  at('2026-04-01T10:00:00Z');
  await renewSubscriptions(system);
  expect(await creditOf(world, customer.id)).toBe(0n);
  expect(await refundAt('2026-04-01T10:00:01Z', 1_000n)).toBe(0n);
  const refunds = (await historyOf(world, customer.id)).filter(({ event }) => event === 'payment_refunded');
  expect(refunds).toMatchObject([
    { amount: 400n, note: 'The payment had become credit: 4.00 EUR of credit was taken back.' },
    { amount: 600n, note: expect.stringContaining('6.00 EUR of it had been used before.') },
  ]);
});

test('an approval is for transfers only, and recording money cancels a try through a vendor, which is made unpayable', async () => {
  const customer = await dueCustomer();
  const { object, intentUid } = await begin(customer);
  await expect(approvePayment(admin, { uid: intentUid })).rejects.toMatchObject({ code: 'PAYMENT_NOT_OFFLINE' });
  await recordPayment(admin, { invoiceUid: customer.due.uid });
  await cancelIntent(system, { intentUid });
  expect(object.status).toBe('CANCELLED');
});

test('a transfer that is reported takes the place of a checkout that was left; then nothing else can be begun', async () => {
  const customer = await dueCustomer();
  await begin(customer);
  await claimPayment(customer.ctx, { invoiceUid: customer.due.uid });
  expect(await statusesOf(customer)).toEqual(['CANCELLED', 'AWAITING_ADMIN_APPROVAL']);
  await expect(begin(customer)).rejects.toMatchObject({ code: 'PAYMENT_AWAITS_APPROVAL' });
});

test('a checkout that was left does not keep an unpaid subscription alive', async () => {
  const customer = await dueCustomer();
  await recordPayment(admin, { invoiceUid: customer.due.uid });
  at('2026-04-01T10:00:01Z');
  await renewSubscriptions(system);
  const [, renewal] = await invoicesOf(world, customer.id);
  if (!renewal) throw new Error('There is no renewal.');
  await begin({ ctx: customer.ctx, due: { ...customer.due, uid: renewal.uid } });
  at('2026-06-01T10:00:00Z');
  await renewSubscriptions(system);
  expect((await subscriptionsOf(world, customer.id)).map(({ status }) => status)).toEqual(['ended']);
  expect(await statusesOf({ due: { ...customer.due, uid: renewal.uid } })).toEqual(['CANCELLED']);
});

test('a checkout that never reached the vendor ends after a day; a failing vendor changes nothing and is asked again', async () => {
  const customer = await dueCustomer();
  await startPayment(customer.ctx, { invoiceUid: customer.due.uid, gatewayUid: gateway.uid });
  const other = await dueCustomer();
  const { object } = await begin(other);
  vendor.failures.set('read', new GatewayError('unavailable', 'It is down.'));
  at('2026-03-02T10:00:00Z');
  await syncPayments(system);
  expect(await statusesOf(customer)).toEqual(['CANCELLED']);
  expect(await statusesOf(other)).toEqual(['PENDING']);
  vendor.failures.clear();
  object.status = 'SUCCEEDED';
  at('2026-03-02T12:00:00Z');
  await syncPayments(system);
  expect(await statusesOf(other)).toEqual(['SUCCEEDED']);
});

test('a plugin that throws anything, or answers nonsense, harms no other payment', async () => {
  const [first, second] = [await dueCustomer(), await dueCustomer()];
  const broken = await begin(first);
  const { object } = await begin(second);
  Object.assign(broken.object, { status: 'PAID' });
  object.status = 'SUCCEEDED';
  at('2026-03-01T10:05:00Z');
  await syncPayments(system);
  expect(await statusesOf(first)).toEqual(['PENDING']);
  expect(await statusesOf(second)).toEqual(['SUCCEEDED']);
});

test('a saved method pays the renewal, once for 50 callers; a crash after the charge is found again', async () => {
  const customer = await customerWithCard();
  at('2026-04-01T10:00:01Z');
  await renewSubscriptions(system);
  const [, renewal] = await invoicesOf(world, customer.id);
  const due = { ...customer.due, uid: renewal?.uid ?? '' };
  const intentUid = await chargedIntent(customer);
  vendor.afterCharge = () => {
    throw new GatewayError('unavailable', 'The connection was cut.');
  };
  await expect(chargeIntent(system, { intentUid })).rejects.toThrow('cut');
  // While nobody knows whether it was charged, nothing takes its place.
  vendor.failures.set('read', new GatewayError('unavailable', 'It is down.'));
  const another = () => startPayment(customer.ctx, { invoiceUid: due.uid, gatewayUid: gateway.uid });
  await expect(another()).rejects.toMatchObject({ code: 'PAYMENT_IN_PROGRESS' });
  const claimed = claimPayment(customer.ctx, { invoiceUid: due.uid });
  await expect(claimed).rejects.toMatchObject({ code: 'PAYMENT_IN_PROGRESS' });
  expect(vendor.calls).not.toContain('cancel');
  expect(await statusesOf({ due })).toEqual(['PENDING']);
  vendor.failures.clear();
  vendor.afterCharge = () => undefined;
  await Promise.all(Array.from({ length: 50 }, () => chargeIntent(system, { intentUid })));
  expect(vendor.calls.filter((call) => call === 'charge').length).toBeGreaterThan(10);
  expect(await statusesOf({ due })).toEqual(['SUCCEEDED']);
  expect([...vendor.objects.values()].map(({ charges }) => charges)).toEqual([0, 1]);
  expect(await invoicesOf(world, customer.id)).toMatchObject([{ status: 'paid' }, { status: 'paid' }]);
});

test('a declined saved method leaves the invoice open for the days of grace', async () => {
  const customer = await customerWithCard();
  vendor.chargeResult = 'FAILED';
  at('2026-04-01T10:00:01Z');
  await renewSubscriptions(system);
  const intentUid = await chargedIntent(customer);
  await chargeIntent(system, { intentUid });
  expect(await invoicesOf(world, customer.id)).toMatchObject([{ status: 'paid' }, { status: 'pending' }]);
  expect(await subscriptionsOf(world, customer.id)).toMatchObject([{ status: 'active' }]);
  at('2026-06-01T10:00:00Z');
  await renewSubscriptions(system);
  expect(await subscriptionsOf(world, customer.id)).toMatchObject([{ status: 'ended' }]);
});

test('a restored copy on hold begins no payment and charges nothing', async () => {
  const customer = await customerWithCard();
  at('2026-04-01T10:00:01Z');
  await renewSubscriptions(system);
  const other = await dueCustomer();
  const begun = await begin(other);
  const intentUid = await chargedIntent(customer);
  await admin.db.execute(
    sql`INSERT INTO setting (key, value) VALUES (${HOLD_KEY}, '{"since": "2026-04-01T10:00:00Z"}')`,
  );
  try {
    await expect(chargeIntent(system, { intentUid })).rejects.toMatchObject({
      code: 'INSTALLATION_ON_HOLD',
    });
    expect(await openCheckout(system, 'acme/pay', begun.token)).toBeUndefined();
    const fresh = await dueCustomer();
    await expect(begin(fresh)).rejects.toMatchObject({ code: 'INSTALLATION_ON_HOLD' });
    expect(vendor.calls).not.toContain('charge');
  } finally {
    await admin.db.execute(sql`DELETE FROM setting WHERE key = ${HOLD_KEY}`);
  }
});

test('a deleted customer leaves no payable object and no saved method at the vendor; while it is down the deletion waits', async () => {
  const customer = await customerWithCard();
  at('2026-04-01T10:00:01Z');
  vendor.failures.set('charge', new GatewayError('unavailable', 'It is down.'));
  await renewSubscriptions(system);
  const intentUid = await chargedIntent(customer);
  await expect(chargeIntent(system, { intentUid })).rejects.toThrow('down');
  await deleteCustomer(admin, { uid: customer.uid });
  const job = { customerId: customer.id, abortSignal: new AbortController().signal };
  vendor.failures.set('remove', new GatewayError('unavailable', 'It is down.'));
  await expect(removeCustomer(system, job)).rejects.toThrow('Not everything');
  vendor.failures.clear();
  await removeCustomer(system, job);
  expect([...vendor.objects.values()].map(({ status }) => status)).toEqual(['SUCCEEDED', 'CANCELLED']);
  expect(vendor.removed).toEqual(['card_1']);
  expect(await world.rows(sql`SELECT 1 FROM payment_method WHERE customer_id = ${customer.id}`)).toEqual([]);
});

test('a token is for the plugin of its gateway only, ends with the intent, and an id is saved once', async () => {
  const customer = await dueCustomer();
  const { token, intentUid, object } = await begin(customer);
  expect(await openCheckout(system, 'other/plugin', token)).toBeUndefined();
  expect(await openCheckout(system, 'acme/pay', `${token}x`)).toBeUndefined();
  expect(await saveReference(system, 'other/plugin', { intentUid, reference: object.id })).toBe(false);
  expect(await saveReference(system, 'acme/pay', { intentUid, reference: 'another' })).toBe(false);
  expect(await saveReference(system, 'acme/pay', { intentUid, reference: object.id })).toBe(true);
  at('2026-03-02T10:00:01Z');
  expect(await openCheckout(system, 'acme/pay', token)).toBeUndefined();
});

test('a plan is paid only through the gateways it names, and a gateway takes only its currencies', async () => {
  const limited = await world.newPlan('10', { options: { payment_gateway: 'offline' } });
  const yen = await world.newPlan('1000', { currencyCode: 'USD' });
  const [first, second] = [await dueCustomer(limited.uid), await dueCustomer(yen.uid)];
  const refusal = (due: Due) => begin(due).catch((error: unknown) => error);
  expect(await refusal(first)).toBeInstanceOf(ValidationError);
  expect(await refusal(second)).toMatchObject({ fields: { gatewayUid: ['This payment gateway does not take USD.'] } });
  await updatePlan(admin, { uid: limited.uid, options: { payment_gateway: `acme-pay` } });
  await begin(first);
  const byCard = await dueCustomer(limited.uid);
  await expect(claimPayment(byCard.ctx, { invoiceUid: byCard.due.uid })).rejects.toMatchObject({
    code: 'OFFLINE_NOT_OFFERED',
  });
  await expect(updatePlan(admin, { uid: limited.uid, options: { payment_gateway: 'no-such' } })).rejects.toMatchObject({
    fields: { 'options.payment_gateway': [expect.stringContaining('no-such')] },
  });
});

test('a gateway is stored only if its test succeeds, keeps its secrets sealed, and is deleted at once while it was not used', async () => {
  const given = { name: 'Other', type: 'acme-pay', settings: { account: 'a', key: 'sk_secret' } };
  vendor.isWell = false;
  await expect(createGateway(admin, given)).rejects.toMatchObject({
    fields: { connection: ['The key is not known.'] },
  });
  await expect(createGateway(admin, { ...given, settings: { key: 'x', kee: 1 } })).rejects.toMatchObject({
    fields: {
      'settings.key': ['The key begins with sk_.'],
      'settings.kee': [expect.stringContaining('no such setting')],
    },
  });
  vendor.isWell = true;
  const other = await createGateway(admin, given);
  const [row] = await world.rows<{ settings: object; sealed: Buffer }>(
    sql`SELECT settings, sealed_settings AS sealed FROM payment_gateway WHERE uid = ${other.uid}`,
  );
  expect(row?.settings).toEqual({ account: 'a' });
  expect(row?.sealed.toString('latin1')).not.toContain('sk_secret');
  await updateGateway(admin, { uid: other.uid, settings: { account: 'b' }, status: 'inactive' });
  // Its vendor has nothing of it.
  expect(await deleteGateway(admin, { uid: other.uid })).toEqual({ uid: other.uid, isDeleted: true });
});
