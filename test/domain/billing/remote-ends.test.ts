/** Subscriptions at vendors that end: what failed stays shown, what the vendor is said not to know is asked again, and nothing is closed in vain. */
import { beforeEach, expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { closeGateway } from '../../../src/domain/billing/payments/close-gateway.ts';
import { deleteGateway } from '../../../src/domain/billing/gateways/delete-gateway.ts';
import { startRemoteSubscription } from '../../../src/domain/billing/remote/start-remote.ts';
import { startPayment } from '../../../src/domain/billing/payments/start-payment.ts';
import { syncPayments } from '../../../src/domain/billing/payments/sync-payments.ts';
import { GatewayError } from '../../../src/plugin-api/index.ts';
import { openBillingWorld } from '../../support/billing-world.ts';
import { remoteScene } from '../../support/remote-scene.ts';
import { RemoteVendor } from '../../support/remote-vendor.ts';

const world = await openBillingWorld('2026-03-01T10:00:00Z');
const { admin } = world;
let vendor = new RemoteVendor();
const scene = await remoteScene(world, () => vendor);
const { gateway, system, at, linkPlans, cardHolder, begin, subscriber, remotesOf, runJobs, pass, forget } = scene;

beforeEach(async () => {
  vendor = new RemoteVendor();
  at('2026-03-01T10:00:00Z');
  await forget();
});

const isDown = () => new GatewayError('unavailable', 'It is down.');
const calls = (name: string) => vendor.calls.filter((call) => call === name).length;

test('a disabled customer: why the cancellation at the vendor failed stays shown until it is cancelled', async () => {
  await linkPlans();
  const { id, kept } = await subscriber();
  await world.rows(sql`UPDATE customer SET status = 'inactive' WHERE id = ${id}`);
  at('2026-03-01T12:00:00Z');
  await pass();
  vendor.failures.set('cancel', isDown());
  await expect(runJobs(id)).rejects.toThrow('It is down.');
  // It is read by itself in the meantime, and the reading works.
  at('2026-03-01T13:30:00Z');
  await pass();
  expect(await remotesOf(id)).toMatchObject([{ error: 'It could not be cancelled at the vendor: It is down.' }]);
  vendor.failures.clear();
  await runJobs(id);
  expect([kept.status, await remotesOf(id)]).toMatchObject(['canceled', [{ isEnded: true, error: null }]]);
});

test('one that the vendor has called ended, and then does not know, is not read again and again', async () => {
  await linkPlans();
  const { id, kept } = await subscriber();
  kept.status = 'canceled';
  at('2026-03-02T12:00:00Z');
  await pass();
  expect(await remotesOf(id)).toMatchObject([{ isEnded: true }]);
  // As a job leaves it that notes an error in the same moment.
  await world.rows(sql`UPDATE remote_subscription SET next_sync_at = synced_at WHERE customer_id = ${id}`);
  await world.rows(sql`UPDATE payment_gateway SET next_walk_at = '2027-01-01'`);
  vendor.subscriptions.length = 0;
  vendor.calls.length = 0;
  const note = vendor.note.bind(vendor);
  vendor.note = (call) => {
    // A run without an end is stopped: its vendor stops answering.
    if (calls('get') > 50) throw isDown();
    note(call);
  };
  at('2026-03-02T13:00:00Z');
  await syncPayments(system);
  at('2026-03-02T15:00:00Z');
  await syncPayments(system);
  expect(calls('get')).toBe(1);
  const [row] = await world.rows(sql`SELECT is_ended AS "isEnded", gone_said_at AS gone FROM remote_subscription`);
  expect(row).toEqual({ isEnded: true, gone: null });
});

test('a gateway whose vendor is said not to know its subscriptions is not deleted at once: with the right keys they are cancelled', async () => {
  await linkPlans();
  const { id, kept } = await subscriber();
  const known = vendor.subscriptions.splice(0);
  for (const moment of ['2026-03-02T12:00:00Z', '2026-03-02T13:00:00Z']) {
    at(moment);
    await pass();
  }
  expect(await remotesOf(id)).toMatchObject([{ isEnded: true }]);
  vendor.subscriptions.push(...known);
  try {
    expect(await deleteGateway(admin, { uid: gateway.uid })).toMatchObject({ isDeleted: false });
    vendor.failures.set('cancel', isDown());
    await expect(closeGateway(system, { gatewayUid: gateway.uid, isLastTry: false })).rejects.toThrow('It is down.');
    expect(kept.status).toBe('active');
    vendor.failures.clear();
    await runJobs(id);
    await world.rows(sql`UPDATE payment_gateway SET status = 'active', deleting_at = NULL WHERE id = ${gateway.id}`);
  } finally {
    await world.rows(sql`UPDATE payment_gateway SET status = 'active', deleting_at = NULL WHERE id = ${gateway.id}`);
  }
});

test('a beginning that is refused, for a fresh decline or too many tries, leaves the open checkout as it is', async () => {
  const customer = await cardHolder();
  const checkout = await begin(customer);
  const invoice = sql`(SELECT id FROM invoice WHERE uid = ${customer.due.uid})`;
  await world.rows(sql`
    INSERT INTO payment_intent (customer_id, uid, invoice_id, method, gateway_id, method_id, status, amount_minor, currency_code, charged_at,
                                created_at, decided_at)
    SELECT ${customer.id}, 'declined' || ${customer.id}::text, ${invoice}, 'acme-subs', ${gateway.id}, m.id, 'FAILED', 1000, 'EUR', now(),
           '2026-03-01T09:58:00Z', '2026-03-01T09:59:00Z' FROM payment_method m WHERE m.customer_id = ${customer.id}`);
  vendor.calls.length = 0;
  const begun = { invoiceUid: customer.due.uid, gatewayUid: gateway.uid };
  await expect(startRemoteSubscription(customer.ctx, begun)).rejects.toMatchObject({ code: 'PAYMENT_JUST_DECLINED' });
  await world.rows(sql`
    INSERT INTO payment_intent (customer_id, uid, invoice_id, method, status, amount_minor, currency_code, created_at)
    SELECT ${customer.id}, 'try' || ${customer.id}::text || n::text, ${invoice}, 'offline', 'CANCELLED', 1000, 'EUR', '2026-02-01'
      FROM generate_series(1, 50) AS n`);
  at('2026-03-01T11:00:00Z');
  await expect(startRemoteSubscription(customer.ctx, begun)).rejects.toMatchObject({ code: 'TOO_MANY_PAYMENTS' });
  expect(vendor.calls).toEqual([]);
  expect(await openPayments(customer.id)).toEqual([{ reference: checkout.id }]);
  // The checkout itself goes on.
  await startPayment(customer.ctx, begun);
});

function openPayments(customerId: bigint) {
  return world.rows(
    sql`SELECT reference FROM payment_intent WHERE customer_id = ${customerId} AND status = 'PENDING' AND reference IS NOT NULL`,
  );
}
