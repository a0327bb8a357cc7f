/** What was paid at a vendor while the installation was down is found before the renewal job ends the subscription, however long that was. */
import { beforeEach, expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { HOLD_KEY } from '../../../src/domain/accounts/installation-hold-read-model.ts';
import { createGateway } from '../../../src/domain/billing/gateways/save-gateway.ts';
import { renewSubscriptions } from '../../../src/domain/billing/subscriptions/renew-subscriptions.ts';
import { refreshInvoice, syncPayments } from '../../../src/domain/billing/payments/sync-payments.ts';
import { GatewayError } from '../../../src/plugin-api/index.ts';
import {
  creditOf,
  eventsOf,
  historyOf,
  invoicesOf,
  openBillingWorld,
  subscriptionsOf,
} from '../../support/billing-world.ts';
import { remoteScene } from '../../support/remote-scene.ts';
import { RemoteVendor } from '../../support/remote-vendor.ts';

const world = await openBillingWorld('2026-03-01T10:00:00Z');
let vendor = new RemoteVendor();
const { system, at, linkPlans, dueCustomer, begin, subscriber, forget, ...scene } = await remoteScene(
  world,
  () => vendor,
);

beforeEach(async () => {
  vendor = new RemoteVendor();
  at('2026-03-01T10:00:00Z');
  await forget();
});

const present = async (id: bigint) => (await subscriptionsOf(world, id)).at(-1);
const lastNote = async (id: bigint) => (await historyOf(world, id)).at(-1)?.note;
const kinds = [
  ['a single payment', () => Promise.resolve()],
  ['a subscription that the vendor keeps', () => linkPlans()],
] as const;
const isDown = () => new GatewayError('unavailable', 'It is down.');

test.each(kinds)('the first invoice, paid on its last day, 40 days ago: %s', async (_name, link) => {
  await link();
  const customer = await dueCustomer();
  const { id: checkout } = await begin(customer);
  at('2026-03-31T09:00:00Z');
  vendor.pay(checkout);
  at('2026-04-20T10:00:00Z');
  await renewSubscriptions(system);
  expect(await present(customer.id)).toMatchObject({ status: 'active' });
  await scene.pass();
  expect(await eventsOf(world, customer.id)).toEqual(['created', 'started']);
  expect((await invoicesOf(world, customer.id)).map(({ kind, status }) => [kind, status])).toEqual([['start', 'paid']]);
  expect(await creditOf(world, customer.id)).toBe(0n);
});

test('two periods of a subscription that began and was renewed meanwhile are counted once each', async () => {
  await linkPlans();
  const customer = await dueCustomer();
  const { id: checkout } = await begin(customer);
  at('2026-03-02T10:00:00Z');
  const kept = vendor.pay(checkout);
  if (!kept) throw new Error('None was begun.');
  vendor.renew(kept);
  at('2026-04-20T10:00:00Z');
  await Promise.all([renewSubscriptions(system), renewSubscriptions(system)]);
  await scene.pass();
  expect(await present(customer.id)).toMatchObject({
    status: 'active',
    periodEndsAt: new Date('2026-05-02T10:00:00Z'),
  });
  expect((await invoicesOf(world, customer.id)).map(({ kind, status }) => [kind, status])).toEqual([
    ['start', 'paid'],
    ['renewal', 'paid'],
  ]);
});

test.each(kinds)('a vendor that cannot be read keeps it for six hours from the first try: %s', async (_name, link) => {
  await link();
  const customer = await dueCustomer();
  const { id: checkout } = await begin(customer);
  vendor.failures.set('read', isDown());
  for (const moment of ['2026-04-20T10:00:00Z', '2026-04-20T15:59:00Z']) {
    at(moment);
    await renewSubscriptions(system);
    expect(await present(customer.id)).toMatchObject({ status: 'pending' });
  }
  vendor.pay(checkout);
  at('2026-04-20T16:00:01Z');
  await renewSubscriptions(system);
  expect(await present(customer.id)).toMatchObject({ status: 'ended' });
  expect(await lastNote(customer.id)).toBe('Never paid.');
  vendor.failures.clear();
  at('2026-04-21T16:00:00Z');
  await syncPayments(system);
  await syncPayments(system);
  expect(await creditOf(world, customer.id)).toBe(1_000n);
});

test.each(kinds)('it is read in time after some hours, or says that nothing was paid: %s', async (_name, link) => {
  await link();
  const [paid, left] = [await dueCustomer(), await dueCustomer()];
  const checkout = await begin(paid);
  await begin(left);
  vendor.failures.set('read', isDown());
  at('2026-04-20T10:00:00Z');
  await renewSubscriptions(system);
  vendor.failures.clear();
  vendor.pay(checkout.id);
  at('2026-04-20T13:00:00Z');
  await renewSubscriptions(system);
  expect(await present(paid.id)).toMatchObject({ status: 'active' });
  expect(await present(left.id)).toMatchObject({ status: 'ended' });
});

test('days of grace that ended long ago: the period that the vendor took, and the renewal that was paid at its checkout', async () => {
  const single = await dueCustomer();
  vendor.pay((await begin(single)).id);
  await refreshInvoice(single.ctx, { uid: single.due.uid });
  await linkPlans();
  const { id, kept } = await subscriber();
  at('2026-04-01T10:05:00Z');
  await renewSubscriptions(system);
  const due = (await invoicesOf(world, single.id)).at(-1);
  await scene.unlink();
  const checkout = await begin({ ...single, due: { uid: due?.uid ?? '' } });
  at('2026-04-05T10:00:00Z');
  vendor.renew(kept);
  vendor.pay(checkout.id);
  vendor.failures.set('get', isDown());
  at('2026-04-28T10:00:00Z');
  await renewSubscriptions(system);
  expect(await present(single.id)).toMatchObject({ status: 'active', periodEndsAt: new Date('2026-05-01T10:00:00Z') });
  expect(await present(id)).toMatchObject({ status: 'active', periodEndsAt: new Date('2026-04-01T10:00:00Z') });
  vendor.failures.clear();
  at('2026-04-28T12:00:00Z');
  await renewSubscriptions(system);
  expect(await present(id)).toMatchObject({ status: 'active', periodEndsAt: new Date('2026-05-01T10:00:00Z') });
});

test('a vendor that does not answer keeps up its own subscriptions only', async () => {
  const other = await createGateway(world.admin, { name: 'Other', type: 'acme-subs', settings: {} });
  const hanging = await Promise.all(Array.from({ length: 5 }, () => dueCustomer()));
  let answer = () => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  for (const customer of hanging) vendor.readWaits.set((await begin(customer)).id, answered);
  const [free, paid] = [await dueCustomer(), await dueCustomer()];
  vendor.pay((await begin(paid, other.uid)).id);
  at('2026-04-20T10:00:00Z');
  const run = renewSubscriptions(system);
  try {
    await expect
      .poll(async () => [(await present(paid.id))?.status, (await present(free.id))?.status])
      .toEqual(['active', 'ended']);
    for (const { id } of hanging) expect(await present(id)).toMatchObject({ status: 'pending' });
  } finally {
    answer();
    await run;
  }
  for (const { id } of hanging) expect(await present(id)).toMatchObject({ status: 'ended' });
});

test('at a vendor that fails all are asked about in turn, a bounded number in each run', async () => {
  const customers = await Promise.all(Array.from({ length: 5 }, () => dueCustomer()));
  for (const customer of customers) await begin(customer);
  vendor.failures.set('read', isDown());
  const asked = async () =>
    (
      await world.rows<{ count: number }>(
        sql`SELECT count(DISTINCT p.customer_id)::int AS count FROM payment_intent p WHERE p.synced_at >= '2026-04-20' AND p.customer_id = ANY(${customers.map(({ id }) => id)}::bigint[])`,
      )
    )[0]?.count;
  const seen: unknown[] = [];
  for (const minute of ['00', '05', '10']) {
    at(`2026-04-20T10:${minute}:00Z`);
    vendor.calls.length = 0;
    await renewSubscriptions(system, { places: 2, askMsMax: 0 });
    seen.push([vendor.calls.length, await asked()]);
  }
  expect(seen).toEqual([
    [2, 2],
    [2, 4],
    [2, 5],
  ]);
});

test('on hold no vendor is read, and what may have been paid waits for the end of the hold', async () => {
  const customer = await dueCustomer();
  const { id: checkout } = await begin(customer);
  vendor.pay(checkout);
  await world.rows(
    sql`INSERT INTO setting (key, value) VALUES (${HOLD_KEY}, ${JSON.stringify({ since: '2026-03-01T10:00:00Z', reason: 'x' })}::jsonb)`,
  );
  try {
    for (const moment of ['2026-04-20T10:00:00Z', '2026-04-25T10:00:00Z']) {
      at(moment);
      await renewSubscriptions(system);
      expect(await present(customer.id)).toMatchObject({ status: 'pending' });
    }
    expect(vendor.calls).toEqual([]);
  } finally {
    await world.rows(sql`DELETE FROM setting WHERE key = ${HOLD_KEY}`);
  }
  await renewSubscriptions(system);
  expect(await present(customer.id)).toMatchObject({ status: 'active' });
});
