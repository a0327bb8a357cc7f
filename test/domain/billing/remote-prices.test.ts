/** What a vendor's period pays for when prices, links and plans changed meanwhile: the period is counted, or its money is credit. */
import { beforeEach, expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { changePlan } from '../../../src/domain/billing/subscriptions/change-plan.ts';
import { cancelSubscription } from '../../../src/domain/billing/subscriptions/control-subscription.ts';
import { linkRemotePlan, unlinkRemotePlan } from '../../../src/domain/billing/remote/link-remote-plan.ts';
import { updatePlan } from '../../../src/domain/billing/plans/update-plan.ts';
import { GatewayError } from '../../../src/plugin-api/index.ts';
import * as books from '../../support/billing-world.ts';
import { remoteScene } from '../../support/remote-scene.ts';
import { RemoteVendor } from '../../support/remote-vendor.ts';

let vendor = new RemoteVendor();
const FIRST_DAY = '2026-03-01T10:00:00Z';
const world = await books.openBillingWorld(FIRST_DAY);
const scene = await remoteScene(world, () => vendor);
const { admin } = world;
const { small, large, at, linkPlans, subscriber, remotesOf, runJobs, pass, forget } = scene;
const ofSmall = { gatewayUid: scene.gateway.uid, planUid: small.uid };

beforeEach(async () => {
  await forget();
  await updatePlan(admin, { uid: small.uid, price: '10' });
  vendor = new RemoteVendor();
  at(FIRST_DAY);
});

const present = async (id: bigint) => (await books.subscriptionsOf(world, id)).at(-1);
const paid = async (id: bigint) =>
  (await books.invoicesOf(world, id)).filter(({ status }) => status === 'paid').map(({ kind, total }) => [kind, total]);
const errorOf = async (id: bigint) => (await remotesOf(id)).at(-1)?.error;

/** As the error of `updatePlan` says. */
async function raisePrice() {
  await expect(updatePlan(admin, { uid: small.uid, price: '12' })).rejects.toMatchObject({
    code: 'REMOTE_PLAN_LINKED',
    message: expect.stringContaining('go on at the old price'),
  });
  await unlinkRemotePlan(admin, ofSmall);
  await updatePlan(admin, { uid: small.uid, price: '12' });
  vendor.addPlan('p_small_12', 1_200n);
  await linkRemotePlan(admin, { ...ofSmall, remotePlanId: 'p_small_12' });
}

test('after a price was raised, old subscriptions at the vendor are renewed at their price, new ones at the new price', async () => {
  await linkPlans();
  const old = await subscriber();
  await raisePrice();
  const recent = await subscriber();
  for (const [month, day] of [
    ['04', '01'],
    ['05', '01'],
  ]) {
    for (const { kept } of [old, recent]) vendor.renew(kept);
    at(`2026-${month}-${day}T10:05:00Z`);
    await pass();
    at(`2026-${month}-20T10:05:00Z`);
    await pass();
    await runJobs(old.id);
  }
  expect(await paid(old.id)).toEqual([
    ['start', 1_000n],
    ['renewal', 1_000n],
    ['renewal', 1_000n],
  ]);
  expect((await paid(recent.id)).slice(1)).toEqual([
    ['renewal', 1_200n],
    ['renewal', 1_200n],
  ]);
  for (const { id, kept } of [old, recent]) {
    expect(await present(id)).toMatchObject({ status: 'active', planId: small.id });
    expect([kept.status, await books.creditOf(world, id), await errorOf(id)]).toEqual(['active', 0n, null]);
  }
  expect(old.kept.planId).toBe('p_small');
});

test('a link that another one replaces keeps the subscriptions of the first, also when the plan has another price and period later', async () => {
  await linkPlans();
  const { id, kept } = await subscriber();
  vendor.addPlan('p_small_2', 1_000n);
  await linkRemotePlan(admin, { ...ofSmall, remotePlanId: 'p_small_2' });
  await unlinkRemotePlan(admin, ofSmall);
  await updatePlan(admin, { uid: small.uid, price: '30', frequencyAmount: 3 });
  try {
    vendor.renew(kept);
    at('2026-04-01T10:05:00Z');
    await pass();
    expect((await paid(id)).slice(1)).toEqual([['renewal', 1_000n]]);
    expect(await present(id)).toMatchObject({ status: 'active', periodEndsAt: new Date('2026-05-01T10:00:00Z') });
  } finally {
    await updatePlan(admin, { uid: small.uid, price: '10', frequencyAmount: 1 });
  }
});

test('money at a price that no plan has is kept as credit once, and the operator sees why until a period is paid as it should be', async () => {
  await linkPlans();
  const { id, kept } = await subscriber();
  vendor.renew(kept);
  kept.due = { amountMinor: 900n, currencyCode: 'EUR' };
  at('2026-04-01T10:05:00Z');
  await pass();
  at('2026-04-01T12:05:00Z');
  await Promise.all([pass(), pass()]);
  expect((await books.invoicesOf(world, id)).map(({ kind }) => kind)).toEqual(['start']);
  expect(await books.creditOf(world, id)).toBe(900n);
  expect((await books.historyOf(world, id)).filter(({ event }) => event === 'payment_credited')).toMatchObject([
    { amount: 900n, note: expect.stringContaining('not the price of the plan') },
  ]);
  expect(await errorOf(id)).toContain('The vendor got 900 EUR');
});

test('money at a price that no plan has is no credit as far as the vendor has paid it back', async () => {
  await linkPlans();
  const { id, kept } = await subscriber();
  vendor.renew(kept);
  kept.due = { amountMinor: 900n, currencyCode: 'EUR', refundedMinor: 900n };
  at('2026-04-01T10:05:00Z');
  await pass();
  expect(await books.creditOf(world, id)).toBe(0n);
  expect(await errorOf(id)).toContain('The vendor got 900 EUR');
});

test('a change of plan waits while the present period is unpaid; its money renews the present plan, then the change is made', async () => {
  await linkPlans();
  const { id, ctx, kept } = await subscriber();
  vendor.renew(kept, false);
  at('2026-04-01T10:05:00Z');
  await pass();
  await changePlan(ctx, { planUid: large.uid });
  await runJobs(id);
  expect(kept.planId).toBe('p_small');
  await world.rows(sql`DELETE FROM graphile_worker._private_jobs`);
  vendor.settle(kept);
  at('2026-04-02T10:05:00Z');
  await pass();
  expect((await paid(id)).slice(1)).toEqual([['renewal', 1_000n]]);
  expect(await planJobs()).toHaveLength(1);
  await runJobs(id);
  expect(kept.planId).toBe('p_large');
  vendor.renew(kept);
  at('2026-05-01T10:05:00Z');
  await pass();
  expect((await paid(id)).slice(1)).toEqual([
    ['renewal', 1_000n],
    ['change', 2_500n],
  ]);
  expect(await present(id)).toMatchObject({ status: 'active', planId: large.id });
});

test('a period that began before the vendor changed the plan renews the present plan', async () => {
  await linkPlans();
  const { id, ctx, kept } = await subscriber();
  await raisePrice();
  await changePlan(ctx, { planUid: large.uid });
  vendor.renew(kept, false);
  await runJobs(id);
  expect(kept.planId).toBe('p_large');
  vendor.settle(kept);
  at('2026-04-01T10:05:00Z');
  await pass();
  expect((await paid(id)).slice(1)).toEqual([['renewal', 1_000n]]);
  expect(await present(id)).toMatchObject({ status: 'active', planId: small.id });
  expect([await books.creditOf(world, id), await errorOf(id)]).toEqual([0n, null]);
});

test('without an amount only a linked plan counts: a foreign one renews nothing and gives no credit until it is linked', async () => {
  await linkPlans();
  vendor.hidesAmounts = true;
  const [known, foreign, gone] = [await subscriber(), await subscriber(), await subscriber()];
  vendor.addPlan('p_foreign', 1n);
  for (const { kept } of [foreign, gone]) kept.planId = 'p_foreign';
  await cancelSubscription(gone.ctx, { uid: (await present(gone.id))?.uid ?? '' });
  for (const { kept } of [known, foreign, gone]) vendor.renew(kept);
  at('2026-04-01T10:05:00Z');
  await pass();
  expect((await paid(known.id)).slice(1)).toEqual([['renewal', 1_000n]]);
  expect((await paid(foreign.id)).slice(1)).toEqual([]);
  expect(await errorOf(foreign.id)).toContain('"p_foreign" is linked with no plan');
  expect(await books.creditOf(world, gone.id)).toBe(0n);
  const plan = await world.newPlan('0.01');
  await linkRemotePlan(admin, { ...ofSmall, planUid: plan.uid, remotePlanId: 'p_foreign' });
  at('2026-04-01T10:30:00Z');
  await pass();
  expect((await paid(foreign.id)).slice(1)).toEqual([['change', 1n]]);
  expect(await errorOf(foreign.id)).toBeNull();
});

test('a change of plan that the vendor refuses stays shown, and is asked again each day until the vendor has made it', async () => {
  await linkPlans();
  const { id, ctx, kept } = await subscriber();
  vendor.failures.set('update', new GatewayError('refused', 'Not now.'));
  await changePlan(ctx, { planUid: large.uid });
  await world.rows(sql`DELETE FROM graphile_worker._private_jobs`);
  await runJobs(id);
  at('2026-03-01T12:05:00Z');
  await pass();
  await pass();
  expect(await errorOf(id)).toBe('The vendor has not changed the plan: Not now.');
  expect(await planJobs()).toEqual([{ runAt: new Date('2026-03-02T10:00:00Z') }]);
  vendor.failures.clear();
  at('2026-03-02T10:00:00Z');
  await runJobs(id);
  await pass();
  expect([kept.planId, await errorOf(id)]).toEqual(['p_large', null]);
  expect(await books.eventsOf(world, id)).toEqual(['created', 'started', 'change_requested']);
});

test('a change that is withdrawn after the plan was linked at another price leads back to the price of before', async () => {
  await linkPlans();
  const { id, ctx, kept } = await subscriber();
  await changePlan(ctx, { planUid: large.uid });
  await runJobs(id);
  expect(kept.planId).toBe('p_large');
  await raisePrice();
  await changePlan(ctx, { planUid: small.uid });
  await runJobs(id);
  expect([kept.planId, await errorOf(id)]).toEqual(['p_small', null]);
  vendor.renew(kept);
  at('2026-04-01T10:05:00Z');
  await pass();
  expect((await paid(id)).slice(1)).toEqual([['renewal', 1_000n]]);
});

test('a vendor plan that is linked with another plan keeps its subscribers in theirs, until they choose that one', async () => {
  await linkPlans();
  const [stays, chooses] = [await subscriber(), await subscriber()];
  const other = await world.newPlan('10');
  await unlinkRemotePlan(admin, ofSmall);
  await updatePlan(admin, { uid: small.uid, price: '12' });
  await linkRemotePlan(admin, { ...ofSmall, planUid: other.uid, remotePlanId: 'p_small' });
  await changePlan(chooses.ctx, { planUid: other.uid });
  // And then with nothing: what each has agreed to is remembered.
  await unlinkRemotePlan(admin, { ...ofSmall, planUid: other.uid });
  await linkRemotePlan(admin, { ...ofSmall, planUid: other.uid, remotePlanId: 'p_small' });
  for (const { kept } of [stays, chooses]) vendor.renew(kept);
  at('2026-04-01T10:05:00Z');
  await pass();
  for (const { id } of [stays, chooses]) await runJobs(id);
  for (const { kept } of [stays, chooses]) vendor.renew(kept);
  at('2026-05-01T10:05:00Z');
  await pass();
  expect((await paid(stays.id)).slice(1)).toEqual([
    ['renewal', 1_000n],
    ['renewal', 1_000n],
  ]);
  expect((await paid(chooses.id)).slice(1)).toEqual([
    ['change', 1_000n],
    ['renewal', 1_000n],
  ]);
  expect(await present(stays.id)).toMatchObject({ status: 'active', planId: small.id });
  expect(await present(chooses.id)).toMatchObject({ status: 'active', planId: other.id });
  for (const { id } of [stays, chooses])
    expect([await errorOf(id), await books.creditOf(world, id)]).toEqual([null, 0n]);
});

function planJobs() {
  return world.rows<{ runAt: Date }>(sql`
    SELECT run_at AS "runAt" FROM graphile_worker.jobs WHERE task_identifier = 'billing.change-remote-plan' ORDER BY id`);
}
