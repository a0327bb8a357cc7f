/** Several periods of a vendor's subscription that are seen at once: those that were paid count, those that were not do not. */
import { beforeEach, expect, test } from 'vitest';
import * as books from '../../support/billing-world.ts';
import { GatewayError } from '../../../src/plugin-api/index.ts';
import { remoteScene } from '../../support/remote-scene.ts';
import { RemoteVendor } from '../../support/remote-vendor.ts';

let vendor = new RemoteVendor();
const world = await books.openBillingWorld('2026-03-01T10:00:00Z');
const { at, linkPlans, subscriber, remotesOf, pass, forget } = await remoteScene(world, () => vendor);

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
