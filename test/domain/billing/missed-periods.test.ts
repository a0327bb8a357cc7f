/** Several periods of a vendor's subscription that are seen at once: those that were paid count, those that were not do not. */
import { beforeEach, expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { syncPayments } from '../../../src/domain/billing/payments/sync-payments.ts';
import * as books from '../../support/billing-world.ts';
import { GatewayError } from '../../../src/plugin-api/index.ts';
import { remoteScene } from '../../support/remote-scene.ts';
import { RemoteVendor } from '../../support/remote-vendor.ts';

let vendor = new RemoteVendor();
const world = await books.openBillingWorld('2026-03-01T10:00:00Z');
const { at, linkPlans, subscriber, remotesOf, pass, forget, system } = await remoteScene(world, () => vendor);

beforeEach(async () => {
  await forget();
  vendor = new RemoteVendor();
  at('2026-03-01T10:00:00Z');
  await linkPlans();
});

const present = async (id: bigint) => (await books.subscriptionsOf(world, id)).at(-1);
const paid = async (id: bigint) =>
  (await books.invoicesOf(world, id)).filter(({ status }) => status === 'paid').map(({ kind, total }) => [kind, total]);

/** April was not paid at the vendor, May costs something else there, the others are paid as they should be. Nobody has looked since March. */
async function unpaidApril() {
  const { id, kept } = await subscriber();
  at('2026-03-02T10:00:00Z');
  await pass();
  vendor.renew(kept, false);
  vendor.renew(kept);
  kept.due = { amountMinor: 900n, currencyCode: 'EUR' };
  vendor.renew(kept);
  vendor.renew(kept);
  vendor.renew(kept);
  vendor.calls.length = 0;
  return { id, kept };
}

test('an unpaid period between paid ones is skipped, and one at another price is credit', async () => {
  const { id } = await unpaidApril();
  at('2026-08-01T10:05:00Z');
  await Promise.all([pass(), pass()]);
  await pass();
  expect(await paid(id)).toEqual([
    ['start', 1_000n],
    ['renewal', 1_000n],
    ['renewal', 1_000n],
    ['renewal', 1_000n],
  ]);
  expect(await books.creditOf(world, id)).toBe(900n);
  expect(await present(id)).toMatchObject({ status: 'active', periodEndsAt: new Date('2026-09-01T10:00:00Z') });
  // Read in pages of two, back to the last period that was counted.
  expect(vendor.calls.filter((call) => call === 'periods').length).toBeGreaterThanOrEqual(3);
});

test('while the vendor does not say what was paid, nothing is counted; then all is', async () => {
  const { id } = await unpaidApril();
  vendor.failures.set('periods', new GatewayError('unavailable', 'It is down.'));
  at('2026-08-01T10:05:00Z');
  await pass();
  expect(await paid(id)).toHaveLength(1);
  expect(await remotesOf(id)).toMatchObject([{ error: 'It is down.', paidUntil: new Date('2026-04-01T10:00:00Z') }]);
  vendor.failures.clear();
  at('2026-08-01T12:05:00Z');
  await pass();
  expect(await paid(id)).toHaveLength(4);
  expect(await remotesOf(id)).toMatchObject([{ error: null, paidUntil: new Date('2026-09-01T10:00:00Z') }]);
});

test('a vendor that says nothing of earlier periods: all are taken as paid', async () => {
  const { id } = await unpaidApril();
  vendor.tellsPeriods = false;
  at('2026-08-01T10:05:00Z');
  await pass();
  expect(await paid(id)).toHaveLength(6);
});

const PAID_FOUR = [['start', 1_000n], ...Array.from({ length: 3 }, () => ['renewal', 1_000n])];

test('one that was ended at the vendor meanwhile has its paid periods counted, and ours runs to the end of what is paid', async () => {
  const { id, kept } = await unpaidApril();
  kept.status = 'canceled';
  at('2026-08-01T10:05:00Z');
  await pass();
  await pass();
  expect(await paid(id)).toEqual(PAID_FOUR);
  expect(await books.creditOf(world, id)).toBe(900n);
  expect(await present(id)).toMatchObject({ status: 'cancelled', periodEndsAt: new Date('2026-09-01T10:00:00Z') });
  expect(await remotesOf(id)).toMatchObject([{ isEnded: true, paidUntil: new Date('2026-09-01T10:00:00Z') }]);
});

test('one that was ended at the vendor stays ours while the vendor does not say what was paid', async () => {
  const { id, kept } = await unpaidApril();
  kept.status = 'canceled';
  vendor.failures.set('periods', new GatewayError('unavailable', 'It is down.'));
  at('2026-08-01T10:05:00Z');
  await pass();
  expect(await remotesOf(id)).toMatchObject([{ isEnded: false, error: 'It is down.' }]);
  vendor.failures.clear();
  at('2026-08-01T12:05:00Z');
  await pass();
  expect(await paid(id)).toEqual(PAID_FOUR);
  expect(await present(id)).toMatchObject({ status: 'cancelled' });
});

test('while the periods cannot be read, the days of grace do not end a subscription that was paid', async () => {
  const { id, kept } = await unpaidApril();
  vendor.failures.set('periods', new GatewayError('unavailable', 'It is down.'));
  at('2026-08-01T10:05:00Z');
  await pass();
  const [{ ends } = { ends: null }] = await world.rows<{ ends: Date | null }>(
    sql`SELECT max(grace_ends_at) AS ends FROM subscription WHERE customer_id = ${id}`,
  );
  at(new Date((ends?.getTime() ?? 0) + 60_000).toISOString());
  await pass();
  expect(await present(id)).toMatchObject({ status: 'active' });
  expect(kept.status).toBe('active');
  vendor.failures.clear();
  at(new Date((ends?.getTime() ?? 0) + 2 * 3_600_000).toISOString());
  await pass();
  expect(await paid(id)).toEqual(PAID_FOUR);
  expect(await present(id)).toMatchObject({ status: 'active' });
});

test('one that was not known is written down as not read while its periods cannot be read, and no renewal is billed', async () => {
  const { id } = await unpaidApril();
  await world.rows(sql`DELETE FROM remote_subscription WHERE customer_id = ${id}`);
  await world.rows(sql`UPDATE payment_gateway SET next_walk_at = '2026-07-01T00:00:00Z'`);
  vendor.failures.set('periods', new GatewayError('unavailable', 'It is down.'));
  at('2026-07-31T10:05:00Z');
  await syncPayments(system);
  expect(await remotesOf(id)).toMatchObject([{ isEnded: false, error: 'It is down.', paidUntil: null }]);
  await pass();
  expect(await books.invoicesOf(world, id)).toHaveLength(1);
  vendor.failures.clear();
  at('2026-08-01T12:05:00Z');
  await pass();
  expect(await remotesOf(id)).toMatchObject([{ error: null, paidUntil: new Date('2026-09-01T10:00:00Z') }]);
  expect(await present(id)).toMatchObject({ status: 'active' });
});

test('a period that was skipped and is paid later becomes credit, once, also when the subscription has ended at the vendor', async () => {
  const { id, kept } = await unpaidApril();
  at('2026-08-01T10:05:00Z');
  await pass();
  expect(await books.creditOf(world, id)).toBe(900n);
  const april = kept.past.findIndex(({ payment }) => payment === null);
  kept.past[april] = {
    endsAt: kept.past[april]?.endsAt ?? new Date(0),
    payment: { amountMinor: 1_000n, currencyCode: 'EUR' },
  };
  at('2026-08-02T10:10:00Z');
  await Promise.all([pass(), pass(), pass()]);
  at('2026-08-03T10:15:00Z');
  await pass();
  expect(await books.creditOf(world, id)).toBe(1_900n);
  const credits = (await books.historyOf(world, id)).filter(({ event }) => event === 'payment_credited');
  expect(credits).toHaveLength(2);
  // Nothing is asked about periods any more.
  vendor.calls.length = 0;
  at('2026-08-05T10:15:00Z');
  await pass();
  expect(vendor.calls).not.toContain('periods');
});

test('money for a skipped period that went back becomes no credit; what stays of another payment does', async () => {
  const { id, kept } = await unpaidApril();
  at('2026-08-01T10:05:00Z');
  await pass();
  const april = kept.past.findIndex(({ payment }) => payment === null);
  const endsAt = kept.past[april]?.endsAt ?? new Date(0);
  const payment = { amountMinor: 1_000n, currencyCode: 'EUR' };
  kept.past[april] = { endsAt, payment: { ...payment, refundedMinor: 1_000n } };
  at('2026-08-02T10:10:00Z');
  await pass();
  expect(await books.creditOf(world, id)).toBe(900n);
  kept.past.splice(april + 1, 0, { endsAt, payment: { ...payment, refundedMinor: 300n } });
  at('2026-08-03T10:15:00Z');
  await pass();
  expect(await books.creditOf(world, id)).toBe(1_600n);
});

test('one that has ended is read on while a skipped period may be paid, for half a year', async () => {
  const { id, kept } = await unpaidApril();
  at('2026-08-01T10:05:00Z');
  await pass();
  kept.status = 'canceled';
  at('2026-08-02T10:10:00Z');
  await pass();
  expect(await remotesOf(id)).toMatchObject([{ isEnded: true }]);
  const april = kept.past.findIndex(({ payment }) => payment === null);
  kept.past[april] = {
    endsAt: kept.past[april]?.endsAt ?? new Date(0),
    payment: { amountMinor: 1_000n, currencyCode: 'EUR' },
  };
  at('2026-08-03T10:15:00Z');
  await pass();
  expect(await books.creditOf(world, id)).toBe(1_900n);
  at('2026-08-05T10:20:00Z');
  await pass();
  const rows = await world.rows<{ next: Date | null }>(
    sql`SELECT next_sync_at AS next FROM remote_subscription WHERE customer_id = ${id}`,
  );
  expect(rows).toEqual([{ next: null }]);
});
