/** The sending budget where two things happen at once: jobs that end while others ask, and changes of plan (D37, E20). */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { allowanceOf } from '../../../src/domain/billing/plans/allowance.ts';
import { changePlan } from '../../../src/domain/billing/subscriptions/change-plan.ts';
import { assignPlan } from '../../../src/domain/billing/subscriptions/create-subscription.ts';
import { renewSubscriptions } from '../../../src/domain/billing/subscriptions/renew-subscriptions.ts';
import { decideUnknownOutcomes } from '../../../src/domain/campaigns/decide-unknown-outcomes.ts';
import { leaseSends, returnLease, sendUsage } from '../../../src/domain/sending/send-budget-store.ts';
import { proveLiveness } from '../../../src/workers/liveness.ts';
import { newUid } from '../../../src/lib/ids.ts';
import { newList } from '../../support/tenant.ts';
import { SOURCE_KINDS } from '../../../src/domain/source-key.ts';
import { openBillingWorld } from '../../support/billing-world.ts';

const START = '2026-01-01T00:00:00.000Z';
const world = await openBillingWorld(START);
const { db, database, log } = world.admin;
await queryRows(db, sql`SELECT hot.ensure_partitions('2026-01-01', '2026-01-31')`);
const liveness = await proveLiveness(database, log);
afterAll(() => liveness.release());
const living = randomUUID();
await liveness.hold(living);

const range = { snapshotOn: '2026-01-01', sourceKind: SOURCE_KINDS.campaign, sourceId: 1n, fromId: 1n, toId: 1_000n };

async function lease(customerId: bigint, wanted: number, workerId = living) {
  const allowance = await allowanceOf(db, customerId);
  return leaseSends(db, { range: { ...range, customerId }, allowance, workerId, wanted });
}

async function giveBack(customerId: bigint, id: bigint, isBroken = false): Promise<void> {
  await returnLease(db, customerId, { id, isBroken, allowance: await allowanceOf(db, customerId) });
}

/** What a job does with a slice: all of it is taken by the server. */
async function sends(customerId: bigint, wanted: number): Promise<number> {
  const { sliceId, granted } = await lease(customerId, wanted);
  await wereSent(customerId, granted);
  if (sliceId !== null) await giveBack(customerId, sliceId);
  return granted;
}

async function wereSent(customerId: bigint, count: number): Promise<void> {
  await db.execute(sql`
    INSERT INTO hot.delivery_counter AS c (customer_id, source_kind, source_id, audience, sent) VALUES (${customerId}, 1, 1, ${count}, ${count})
    ON CONFLICT (customer_id, source_kind, source_id) DO UPDATE SET audience = c.audience + excluded.audience, sent = c.sent + excluded.sent`);
}

const creditsUsed = async (customerId: bigint) =>
  (await sendUsage(db, customerId, await allowanceOf(db, customerId))).creditsUsed;

describe('a lease', () => {
  it('of mails of a flow does not wait for the jobs of a campaign', async () => {
    world.setClock(START);
    const plan = await world.newPlan('0', { options: { email_max: '100', max_process: '1' } });
    const { ctx, id: customerId } = await world.newCustomer();
    await changePlan(ctx, { planUid: plan.uid });
    const allowance = await allowanceOf(db, customerId);
    const ask = (sourceKind: number) =>
      leaseSends(db, { range: { ...range, customerId, sourceKind }, allowance, workerId: living, wanted: 10 });
    expect(await ask(SOURCE_KINDS.campaign)).toMatchObject({ granted: 10 });
    expect(await ask(SOURCE_KINDS.campaign)).toMatchObject({ granted: 0, refusal: 'processes' });
    expect(await ask(SOURCE_KINDS.automation)).toMatchObject({ granted: 10 });
  });
  it('of a job that broke off is given back when none of its messages is under way', async () => {
    world.setClock(START);
    const plan = await world.newPlan('0', { options: { email_max: '100' } });
    const { ctx, id: customerId } = await world.newCustomer();
    await changePlan(ctx, { planUid: plan.uid });
    const broken = await lease(customerId, 60);
    expect((await lease(customerId, 100)).granted).toBe(40);
    await giveBack(customerId, broken.sliceId ?? 0n, true);
    expect((await lease(customerId, 100)).granted).toBe(60);
  });

  it('counts what a job sent and gave back while it waited for the rows of a dead worker', async () => {
    world.setClock(START);
    const plan = await world.newPlan('0', { options: { email_max: '100' } });
    const { ctx, id: customerId } = await world.newCustomer();
    await changePlan(ctx, { planUid: plan.uid });
    const mine = await lease(customerId, 60);
    expect((await lease(customerId, 40, randomUUID())).granted).toBe(40);
    const [dead] = await queryRows<{ worker: string }>(
      db,
      sql`SELECT worker FROM hot.send_slice WHERE customer_id = ${customerId} AND amount = 40`,
    );
    await db.execute(sql`
      INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, state, owner, email)
      VALUES (${range.snapshotOn}::date, ${customerId}, 1, 1, 1, 'leased', ${dead?.worker}::uuid, 'x')`);
    let asked: ReturnType<typeof lease> | undefined;
    await database.transaction(async (holder) => {
      await queryRows(holder, sql`SELECT 1 FROM hot.delivery WHERE customer_id = ${customerId} FOR UPDATE`);
      asked = lease(customerId, 100);
      await expect.poll(waitingForLocks, { interval: 20 }).toBe(1);
      await wereSent(customerId, 60);
      await giveBack(customerId, mine.sliceId ?? 0n);
    });
    expect((await asked)?.granted).toBe(40);
  });

  it('never finds more than the budget while others send and give back', async () => {
    const plan = await world.newPlan('0', { options: { email_max: '900' } });
    const { ctx, id: customerId } = await world.newCustomer();
    await changePlan(ctx, { planUid: plan.uid });
    let sent = 0;
    const job = async () => {
      for (let n = 0; n < 40; n++) {
        const granted = await sends(customerId, 7);
        sent += granted;
        await sleep(0);
      }
    };
    await Promise.all(Array.from({ length: 8 }, job));
    expect(sent).toBeLessThanOrEqual(900);
    expect(sent).toBeGreaterThan(890);
  });
});

describe('what a dead worker left in doubt', () => {
  it('holds a budget up until its lease is over, also in a campaign that was paused since', async () => {
    const plan = await world.newPlan('0', { options: { email_max: '20' } });
    const { ctx, id: customerId } = await world.newCustomer();
    await changePlan(ctx, { planUid: plan.uid });
    const list = await newList(ctx);
    const [campaign] = await queryRows<{ id: bigint }>(
      db,
      sql`
      INSERT INTO campaign (customer_id, uid, list_id, name, status, snapshot_on, unknown_policy)
      VALUES (${customerId}, ${newUid()}, ${list.id}, 'News', 'paused', ${range.snapshotOn}::date, 'park') RETURNING id`,
    );
    const campaignId = campaign?.id ?? 0n;
    const dead = randomUUID();
    const allowance = await allowanceOf(db, customerId);
    const asked = { range: { ...range, sourceId: campaignId, customerId }, allowance, workerId: dead, wanted: 20 };
    expect((await leaseSends(db, asked)).granted).toBe(20);
    await db.execute(sql`
      INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, state, owner, lease_expires_at, email)
      SELECT ${range.snapshotOn}::date, ${customerId}, 1, ${campaignId}, n, 'sending', ${dead}::uuid, now() + interval '1 hour', 'x'
        FROM generate_series(1, 5) n`);
    await db.execute(
      sql`INSERT INTO hot.delivery_counter (customer_id, source_kind, source_id, audience, open) VALUES (${customerId}, 1, ${campaignId}, 5, 5)`,
    );
    expect(await sends(customerId, 20)).toBe(15);
    expect((await lease(customerId, 20)).refusal).toBe('held');
    expect(await decideUnknownOutcomes(ctx)).toBe(0);
    await db.execute(
      sql`UPDATE hot.delivery SET lease_expires_at = now() - interval '1 second' WHERE customer_id = ${customerId}`,
    );
    expect(await decideUnknownOutcomes(ctx)).toBe(5);
    // Five that the server may have taken: they are used, and nobody waits for them any more.
    expect((await lease(customerId, 20)).refusal).toBe('credits');
    const [slices] = await queryRows<{ n: number }>(
      db,
      sql`SELECT count(*)::int AS n FROM hot.send_slice WHERE customer_id = ${customerId}`,
    );
    expect(slices?.n).toBe(0);
  });
});

async function waitingForLocks(): Promise<number> {
  const rows = await queryRows(
    db,
    sql`
    SELECT 1 FROM pg_stat_activity
     WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%lease_sends%'`,
  );
  return rows.length;
}

describe('credits', () => {
  const monthly = { email_max: '1000' };

  it('are not had again by changing between plans, however often', async () => {
    world.setClock(START);
    const [one, other] = [
      await world.newPlan('0', { options: monthly }),
      await world.newPlan('0', { options: monthly }),
    ];
    const { ctx, id: customerId } = await world.newCustomer();
    await changePlan(ctx, { planUid: one.uid });
    expect(await sends(customerId, 2_000)).toBe(1_000);
    for (let n = 1; n <= 6; n++) {
      world.setClock(`2026-01-01T0${n}:00:00.000Z`);
      await changePlan(ctx, { planUid: (n % 2 === 1 ? other : one).uid });
      // An hour of a month of a thousand: what time has paid for.
      expect(await sends(customerId, 2_000)).toBeLessThanOrEqual(2);
    }
  });

  it('that a month has paid for are not taken along into the next plan', async () => {
    world.setClock(START);
    const [one, other] = [
      await world.newPlan('0', { options: monthly }),
      await world.newPlan('0', { options: { email_max: '400' } }),
    ];
    const { ctx, id: customerId } = await world.newCustomer();
    await changePlan(ctx, { planUid: one.uid });
    expect(await sends(customerId, 800)).toBe(800);
    // 17 days of 31 are 548 of the 1,000.
    world.setClock('2026-01-18T00:00:00.000Z');
    await changePlan(ctx, { planUid: other.uid });
    expect(await creditsUsed(customerId)).toBe(252);
    expect(await sends(customerId, 2_000)).toBe(148);
    world.setClock('2026-02-18T00:01:00.000Z');
    await renewSubscriptions(world.admin);
    expect(await sends(customerId, 2_000)).toBe(400);
  });

  it('are not had again by a stay on a plan of short periods', async () => {
    world.setClock(START);
    const one = await world.newPlan('0', { options: monthly });
    const daily = await world.newPlan('0', { options: { email_max: '10' }, frequencyUnit: 'day' });
    const { ctx, id: customerId } = await world.newCustomer();
    await changePlan(ctx, { planUid: one.uid });
    expect(await sends(customerId, 2_000)).toBe(1_000);
    await changePlan(ctx, { planUid: daily.uid });
    world.setClock('2026-01-03T00:00:00.000Z');
    await renewSubscriptions(world.admin);
    await changePlan(ctx, { planUid: one.uid });
    expect(await sends(customerId, 2_000)).toBeLessThanOrEqual(20);
  });

  it('of an administrator who assigns a plan anew are fresh', async () => {
    world.setClock(START);
    const plan = await world.newPlan('0', { options: monthly });
    const { ctx, id: customerId, uid } = await world.newCustomer();
    await changePlan(ctx, { planUid: plan.uid });
    expect(await sends(customerId, 2_000)).toBe(1_000);
    await assignPlan(world.admin, { customerUid: uid, planUid: plan.uid });
    expect(await sends(customerId, 2_000)).toBe(1_000);
  });

  it('do not begin anew for a job that still asks by the period before', async () => {
    world.setClock(START);
    const plan = await world.newPlan('0', { options: monthly });
    const { ctx, id: customerId } = await world.newCustomer();
    await changePlan(ctx, { planUid: plan.uid });
    const stale = await allowanceOf(db, customerId);
    world.setClock('2026-02-01T00:01:00.000Z');
    await renewSubscriptions(world.admin);
    expect(await sends(customerId, 600)).toBe(600);
    await leaseSends(db, { range: { ...range, customerId }, allowance: stale, workerId: living, wanted: 1 });
    expect(await creditsUsed(customerId)).toBe(600);
  });
});

describe("a quota's window", () => {
  it('goes on when the plan says another length', async () => {
    world.setClock(START);
    const quota = (unit: string) => ({ sending_quota: '50', sending_quota_time: '1', sending_quota_time_unit: unit });
    const [hourly, weekly] = [
      await world.newPlan('0', { options: quota('hour') }),
      await world.newPlan('0', { options: quota('week') }),
    ];
    const { ctx, id: customerId } = await world.newCustomer();
    await changePlan(ctx, { planUid: weekly.uid });
    expect(await sends(customerId, 100)).toBe(50);
    await changePlan(ctx, { planUid: hourly.uid });
    const { refusal, quotaEndsAt } = await lease(customerId, 100);
    expect(refusal).toBe('quota');
    expect(quotaEndsAt?.getTime()).toBeLessThan(Date.now() + 3_700_000);
    expect(await sendUsage(db, customerId, await allowanceOf(db, customerId))).toMatchObject({ quotaUsed: 50 });
  });
});
