/** Subscriptions at vendors when vendors, keys and plugins are wrong for a while: no money is lost, and nobody is asked without an end. */
import { beforeEach, expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { closePayments } from '../../../src/domain/billing/payments/close-payments.ts';
import { cancelSubscription } from '../../../src/domain/billing/subscriptions/control-subscription.ts';
import { recordPayment } from '../../../src/domain/billing/invoices/pay-invoice.ts';
import { createRemote } from '../../../src/domain/billing/remote/create-remote.ts';
import { startRemoteSubscription } from '../../../src/domain/billing/remote/start-remote.ts';
import { syncPayments } from '../../../src/domain/billing/payments/sync-payments.ts';
import { GatewayError } from '../../../src/plugin-api/index.ts';
import { creditOf, historyOf, invoicesOf, openBillingWorld, subscriptionsOf } from '../../support/billing-world.ts';
import { remoteScene } from '../../support/remote-scene.ts';
import { RemoteVendor, type KeptSubscription } from '../../support/remote-vendor.ts';

const world = await openBillingWorld('2026-03-01T10:00:00Z');
const { admin } = world;
let vendor = new RemoteVendor();
const scene = await remoteScene(world, () => vendor);
const { gateway, system, at, linkPlans, cardHolder, subscriber, remotesOf, runJobs, pass, forget } = scene;

beforeEach(async () => {
  vendor = new RemoteVendor();
  at('2026-03-01T10:00:00Z');
  await forget();
});

const present = async (id: bigint) => (await subscriptionsOf(world, id)).at(-1);
const calls = (name: string) => vendor.calls.filter((call) => call === name).length;

/** With the keys of another account: nothing is known there. */
function wrongKeys(): () => void {
  const kept = vendor.subscriptions.splice(0);
  return () => void vendor.subscriptions.push(...kept);
}

/** The vendor does not know it at two readings, an hour apart. */
async function goneForAnHour(): Promise<() => void> {
  const rightKeys = wrongKeys();
  at('2026-03-02T12:00:00Z');
  await pass();
  at('2026-03-02T13:00:00Z');
  await pass();
  return rightKeys;
}

test('unknown at the vendor once is not believed: the next reading finds it, and it was never ended', async () => {
  await linkPlans();
  const { id, kept } = await subscriber();
  const rightKeys = wrongKeys();
  at('2026-03-02T12:00:00Z');
  await pass();
  expect(await remotesOf(id)).toMatchObject([{ isEnded: false, error: expect.stringContaining('does not know') }]);
  rightKeys();
  at('2026-03-02T13:00:00Z');
  await pass();
  expect(await remotesOf(id)).toMatchObject([{ isEnded: false, error: null }]);
  // A later time counts from its own first word.
  vendor.subscriptions.length = 0;
  at('2026-03-05T12:00:00Z');
  await pass();
  expect(await remotesOf(id)).toMatchObject([{ remoteId: kept.id, isEnded: false }]);
  at('2026-03-05T13:00:00Z');
  await pass();
  expect(await remotesOf(id)).toMatchObject([{ remoteId: kept.id, isEnded: true }]);
});

test('wrong keys for a while: with the right ones its periods count again, and no invoice is written here', async () => {
  await linkPlans();
  const { id, kept } = await subscriber();
  const rightKeys = await goneForAnHour();
  expect(await remotesOf(id)).toMatchObject([{ isEnded: true }]);
  rightKeys();
  vendor.renew(kept);
  at('2026-04-01T10:05:00Z');
  await syncPayments(system);
  expect(await remotesOf(id)).toMatchObject([{ isEnded: false, error: null }]);
  await pass();
  expect(await present(id)).toMatchObject({ status: 'active', periodEndsAt: new Date('2026-05-01T10:00:00Z') });
  expect((await invoicesOf(world, id)).map(({ kind, status }) => [kind, status])).toEqual([
    ['start', 'paid'],
    ['renewal', 'paid'],
  ]);
  expect(await creditOf(world, id)).toBe(0n);
  await runJobs(id);
  expect(kept.status).toBe('active');
});

test('a period that was paid here while the vendor did not know the subscription, and there too, becomes credit once', async () => {
  await linkPlans();
  const { id, kept } = await subscriber();
  const rightKeys = await goneForAnHour();
  at('2026-04-01T10:05:00Z');
  await pass();
  const renewal = (await invoicesOf(world, id)).at(-1);
  expect(renewal).toMatchObject({ kind: 'renewal', status: 'pending' });
  await recordPayment(admin, { invoiceUid: renewal?.uid ?? '' });
  rightKeys();
  vendor.renew(kept);
  at('2026-04-01T12:05:00Z');
  await pass();
  at('2026-04-01T14:05:00Z');
  await pass();
  expect(await creditOf(world, id)).toBe(1_000n);
  expect(await present(id)).toMatchObject({ status: 'active', periodEndsAt: new Date('2026-05-01T10:00:00Z') });
  expect((await historyOf(world, id)).at(-1)).toMatchObject({
    event: 'payment_credited',
    note: expect.stringContaining('for what is paid in another way'),
  });
});

test('unknown at the vendor in its days of grace: an invoice is written, with days of its own', async () => {
  await linkPlans();
  const { id } = await subscriber();
  at('2026-04-01T10:05:00Z');
  await pass();
  expect(await invoicesOf(world, id)).toHaveLength(1);
  wrongKeys();
  for (const time of ['12:00', '13:00', '13:01']) {
    at(`2026-04-01T${time}:00Z`);
    await pass();
  }
  const renewal = (await invoicesOf(world, id)).at(-1);
  expect(renewal).toMatchObject({ kind: 'renewal', status: 'pending' });
  // Read again and again, it is not written anew, and its days end.
  const days = admin.installation.limits.billingGraceDays;
  at(new Date(Date.UTC(2026, 3, 1 + days, 12, 59)).toISOString());
  await pass();
  expect(await present(id)).toMatchObject({ status: 'active' });
  at(new Date(Date.UTC(2026, 3, 1 + days, 13, 2)).toISOString());
  await pass();
  expect(await present(id)).toMatchObject({ status: 'ended' });
  expect(await invoicesOf(world, id)).toHaveLength(2);
});

test('unknown at the vendor in its days of grace, while another one of the same payment is there: no other days', async () => {
  await linkPlans();
  const { id, kept } = await subscriber();
  vendor.keep({ intentUid: kept.intentUid, planId: 'p_small' });
  at('2026-03-01T12:30:00Z');
  await pass();
  at('2026-04-01T10:05:00Z');
  await pass();
  const grace = () => world.rows(sql`SELECT grace_ends_at AS at FROM subscription WHERE customer_id = ${id}`);
  const given = await grace();
  vendor.subscriptions.shift();
  for (const time of ['12:00', '13:00', '13:01']) {
    at(`2026-04-01T${time}:00Z`);
    await pass();
  }
  expect((await remotesOf(id)).map(({ isEnded }) => isEnded)).toEqual([true, false]);
  expect(await grace()).toEqual(given);
  expect(await invoicesOf(world, id)).toHaveLength(1);
});

test.each([false, true])(
  'days given at the vendor move our period, without an invoice or credit (amounts hidden: %s)',
  async (hidesAmounts) => {
    await linkPlans();
    vendor.hidesAmounts = hidesAmounts;
    const { id, kept } = await subscriber();
    for (const day of ['11', '15']) {
      kept.startedAt = new Date(`2026-03-${day}T10:00:00Z`);
      at(`2026-03-${day}T12:00:00Z`);
      await pass();
      expect(await present(id)).toMatchObject({ status: 'active', periodEndsAt: new Date(`2026-04-${day}T10:00:00Z`) });
    }
    expect([await creditOf(world, id), await invoicesOf(world, id)]).toMatchObject([0n, [{ kind: 'start' }]]);
    vendor.renew(kept);
    at('2026-04-15T10:05:00Z');
    await pass();
    expect(await present(id)).toMatchObject({ status: 'active', periodEndsAt: new Date('2026-05-15T10:00:00Z') });
    expect([await creditOf(world, id), await invoicesOf(world, id)]).toMatchObject([0n, [{}, { kind: 'renewal' }]]);
  },
);

test('days given at the vendor do not shorten what was paid here while it did not know the subscription', async () => {
  await linkPlans();
  const { id, kept } = await subscriber();
  const rightKeys = await goneForAnHour();
  at('2026-04-01T10:05:00Z');
  await pass();
  await recordPayment(admin, { invoiceUid: (await invoicesOf(world, id)).at(-1)?.uid ?? '' });
  rightKeys();
  kept.startedAt = new Date('2026-03-11T10:00:00Z');
  at('2026-04-01T12:05:00Z');
  await pass();
  expect(await present(id)).toMatchObject({ status: 'active', periodEndsAt: new Date('2026-05-01T10:00:00Z') });
  expect(await creditOf(world, id)).toBe(0n);
});

test('money of another plan that comes with some days is kept as credit', async () => {
  await linkPlans();
  const { id, kept } = await subscriber();
  kept.startedAt = new Date('2026-03-11T10:00:00Z');
  Object.assign(kept, { planId: 'p_large', due: { amountMinor: 2_500n, currencyCode: 'EUR' } });
  at('2026-03-11T12:00:00Z');
  await pass();
  expect(await creditOf(world, id)).toBe(2_500n);
});

test('cancelled while the vendor did not know it: with the right keys it is cancelled there', async () => {
  await linkPlans();
  const [first, second] = [await subscriber(), await subscriber()];
  const rightKeys = await goneForAnHour();
  for (const { ctx, id } of [first, second]) await cancelSubscription(ctx, { uid: (await present(id))?.uid ?? '' });
  await runJobs(first.id);
  rightKeys();
  // The job of the second runs later than that; the first one's has run in vain, so that the walk finds it.
  await runJobs(second.id);
  expect(second.kept.status).toBe('canceled');
  at('2026-03-02T15:00:00Z');
  await pass();
  await runJobs(first.id);
  expect(first.kept.status).toBe('canceled');
});

test('a customer who is deleted while the vendor is said not to know the subscription: asked again, and cancelled', async () => {
  await linkPlans();
  const [once, believed] = [await subscriber(), await subscriber()];
  const rightKeys = wrongKeys();
  await expect(closePayments(system, { customerId: once.id, isLastTry: false })).rejects.toThrow(
    'asked again in an hour',
  );
  at('2026-03-02T12:00:00Z');
  await pass();
  at('2026-03-02T13:00:00Z');
  await pass();
  expect(await remotesOf(believed.id)).toMatchObject([{ isEnded: true }]);
  rightKeys();
  for (const { id, kept } of [once, believed]) {
    await closePayments(system, { customerId: id, isLastTry: false });
    expect(kept.status).toBe('canceled');
  }
});

test('what the vendor itself has called ended stays so, whatever is said later', async () => {
  await linkPlans();
  const { id, kept } = await subscriber();
  kept.status = 'canceled';
  at('2026-03-02T12:00:00Z');
  await pass();
  kept.status = 'active';
  at('2026-03-02T14:00:00Z');
  await pass();
  expect(await remotesOf(id)).toMatchObject([{ isEnded: true }]);
});

test.each(['after', 'before'] as const)(
  'a second subscription of the same payment, listed %s the one that pays: its money becomes credit, and it is cancelled',
  async (place) => {
    await linkPlans();
    const { id, kept } = await subscriber();
    const second = vendor.keep({ intentUid: kept.intentUid, planId: 'p_small' });
    if (place === 'before') vendor.subscriptions.reverse();
    at('2026-03-01T12:30:00Z');
    await pass();
    await runJobs(id);
    at('2026-03-01T14:30:00Z');
    await pass();
    expect(await creditOf(world, id)).toBe(1_000n);
    expect([kept.status, second.status]).toEqual(['active', 'canceled']);
    expect(await present(id)).toMatchObject({ status: 'active', periodEndsAt: new Date('2026-04-01T10:00:00Z') });
  },
);

test('a cancellation that fails is asked for anew each hour, not each minute', async () => {
  await linkPlans();
  const { id, ctx, kept } = await subscriber();
  at('2026-03-01T13:00:00Z');
  await pass();
  await cancelSubscription(ctx, { uid: (await present(id))?.uid ?? '' });
  vendor.failures.set('cancel', new GatewayError('unavailable', 'It is down.'));
  await expect(runJobs(id)).rejects.toThrow('It is down.');
  await world.rows(sql`UPDATE payment_gateway SET next_walk_at = '2027-01-01'`);
  // Its period is over and not paid: one that is in force is read each ten minutes then.
  vendor.renew(kept, false);
  vendor.calls.length = 0;
  for (const [minute, reads] of [
    ['00', 0],
    ['10', 0],
    ['59', 0],
  ] as const) {
    at(`2026-03-01T13:${minute}:00Z`);
    await pass();
    expect(calls('get')).toBe(reads);
  }
  for (const [moment, reads] of [
    ['04-01T10:05', 1],
    ['04-01T10:20', 1],
    ['04-01T11:00', 1],
    ['04-01T11:06', 2],
  ] as const) {
    at(`2026-${moment}:00Z`);
    await pass();
    expect(calls('get')).toBe(reads);
  }
});

test('a plugin that answers with another subscription is asked again in an hour', async () => {
  await linkPlans();
  const { id } = await subscriber();
  const shown = vendor.shown.bind(vendor);
  vendor.shown = (kept: KeptSubscription) => ({ ...shown(kept), id: kept.id.toUpperCase() });
  await world.rows(sql`UPDATE payment_gateway SET next_walk_at = '2027-01-01'`);
  // The payment is read, too, and its answer names the subscription that it has begun.
  await syncPayments(system);
  expect(await remotesOf(id)).toHaveLength(1);
  await world.rows(sql`UPDATE payment_intent SET next_sync_at = NULL WHERE customer_id = ${id}`);
  vendor.calls.length = 0;
  at('2026-03-02T12:30:00Z');
  await boundedPass();
  at('2026-03-02T12:31:00Z');
  await boundedPass();
  expect(calls('get')).toBe(1);
  expect(await remotesOf(id)).toMatchObject([
    { remoteId: 'sub_1', error: expect.stringContaining('answered with "SUB_1"') },
  ]);
});

test('one whose payment fits no more is asked again in an hour', async () => {
  await linkPlans();
  const { id } = await subscriber();
  await world.rows(sql`UPDATE payment_intent SET remote_plan_id = NULL WHERE customer_id = ${id}`);
  await world.rows(sql`UPDATE payment_gateway SET next_walk_at = '2027-01-01'`);
  vendor.calls.length = 0;
  at('2026-03-02T12:30:00Z');
  await boundedPass();
  expect(calls('get')).toBe(1);
  expect(await remotesOf(id)).toMatchObject([{ error: expect.stringContaining('no longer one of this gateway') }]);
});

/** A run that never ends is stopped: its vendor stops answering. */
async function boundedPass(): Promise<void> {
  const note = vendor.note.bind(vendor);
  vendor.note = (call) => {
    if (calls('get') > 50) throw new GatewayError('unavailable', 'Asked without an end.');
    note(call);
  };
  await syncPayments(system);
}

test('a decline does not make the whole list be read each minute; a subscription that is not known yet does', async () => {
  const customer = await cardHolder();
  vendor.declines = true;
  const { uid: intentUid } = await startRemoteSubscription(customer.ctx, {
    ...{ invoiceUid: customer.due.uid, gatewayUid: gateway.uid },
  });
  await createRemote(system, { intentUid });
  expect(await listedIn(['10:00', '10:01', '10:02', '10:59', '11:00'])).toEqual([1, 1, 1, 1, 2]);
  await world.rows(
    sql`UPDATE payment_intent SET status = 'PENDING', decided_at = NULL, next_sync_at = NULL WHERE uid = ${intentUid}`,
  );
  expect(await listedIn(['12:00', '12:01', '12:02'])).toEqual([1, 2, 3]);
});

test('a walk that takes long is not begun a second time beside it; the next one comes after it has ended', async () => {
  await linkPlans();
  await subscriber();
  await cardHolder();
  let goOn = () => {};
  vendor.listWaits = new Promise((resolve) => {
    goOn = resolve;
  });
  // A payment whose subscription is not known: the next walk is due a minute after this one.
  await world.rows(sql`DELETE FROM remote_subscription`);
  vendor.subscriptions.length = 0;
  at('2026-03-01T12:00:00Z');
  const long = syncPayments(system);
  await expect.poll(() => calls('list')).toBe(1);
  at('2026-03-01T12:30:00Z');
  await syncPayments(system);
  expect(calls('list')).toBe(1);
  goOn();
  await long;
  const [row] = await world.rows<{ next: Date }>(
    sql`SELECT next_walk_at AS next FROM payment_gateway WHERE id = ${gateway.id}`,
  );
  expect(row?.next).toEqual(new Date('2026-03-01T12:31:00Z'));
});

async function listedIn(times: readonly string[]): Promise<number[]> {
  vendor.calls.length = 0;
  const counts: number[] = [];
  for (const time of times) {
    at(`2026-03-01T${time}:00Z`);
    await syncPayments(system);
    counts.push(calls('list'));
  }
  return counts;
}
