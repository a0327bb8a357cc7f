/** The quota of a plan over a sliding window: never more in any stretch of its length, at most a sixtieth held back (D37, issue 13). */
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { allowanceOf } from '../../../src/domain/billing/plans/allowance.ts';
import { changePlan } from '../../../src/domain/billing/subscriptions/change-plan.ts';
import { keepInQuota, leaseSends, returnLease, sendUsage } from '../../../src/domain/sending/send-budget-store.ts';
import { SOURCE_KINDS } from '../../../src/domain/source-key.ts';
import { proveLiveness } from '../../../src/workers/liveness.ts';
import { openBillingWorld } from '../../support/billing-world.ts';
import { drawn, fc } from '../../support/property.ts';

const START = '2026-01-01T00:00:00.000Z';
const world = await openBillingWorld(START);
const { db, database, log } = world.admin;
await queryRows(db, sql`SELECT hot.ensure_partitions('2026-01-01', '2026-01-31')`);
const liveness = await proveLiveness(database, log);
afterAll(() => liveness.release());
const workerId = randomUUID();
await liveness.hold(workerId);

const range = { snapshotOn: '2026-01-01', sourceKind: SOURCE_KINDS.campaign, sourceId: 1n, fromId: 1n, toId: 1_000n };
/** Of a quota by the day: a sixtieth of it, so that moved times stay in the sixtieth that they were in. */
const SLOT_MINUTES = 24;
const SLOTS = 60;

async function customerWith(options: Record<string, string>): Promise<bigint> {
  world.setClock(START);
  const plan = await world.newPlan('0', { options });
  const { ctx, id } = await world.newCustomer();
  await changePlan(ctx, { planUid: plan.uid });
  return id;
}

async function lease(customerId: bigint, wanted: number) {
  const allowance = await allowanceOf(db, customerId);
  return leaseSends(db, { range: { ...range, customerId }, allowance, workerId, wanted });
}

async function giveBack(customerId: bigint, id: bigint): Promise<void> {
  await returnLease(db, customerId, { id, isBroken: false, allowance: await allowanceOf(db, customerId) });
}

async function wereSent(customerId: bigint, count: number): Promise<void> {
  await db.execute(sql`
    INSERT INTO hot.delivery_counter AS c (customer_id, source_kind, source_id, audience, sent) VALUES (${customerId}, 1, 1, ${count}, ${count})
    ON CONFLICT (customer_id, source_kind, source_id) DO UPDATE SET audience = c.audience + excluded.audience, sent = c.sent + excluded.sent`);
}

/** So much time passes: all that is stored becomes older. */
async function pass(customerId: bigint, slots: number): Promise<void> {
  const minutes = slots * SLOT_MINUTES;
  await db.execute(
    sql`UPDATE hot.send_budget SET quota_times = ARRAY(SELECT t - make_interval(mins => ${minutes}) FROM unnest(quota_times) t)
         WHERE customer_id = ${customerId}`,
  );
}

const usage = async (customerId: bigint) => sendUsage(db, customerId, await allowanceOf(db, customerId));

interface Sent {
  readonly at: number;
  readonly count: number;
}

function countBetween(sent: readonly Sent[], after: number, to: number): number {
  return sent.filter(({ at }) => at > after && at <= to).reduce((sum, { count }) => sum + count, 0);
}

/** A window in SQL, with the time as the test says. */
async function windowAt(state: { times: string[]; totals: string[] }, question: Question) {
  const { total, at, length, max } = question;
  const [row] = await queryRows<{ times: string[]; totals: string[]; used: number; roomAt: number | null }>(
    db,
    sql`SELECT w.times::text[] AS times, w.totals::text[] AS totals, (${total}::bigint - w.totals[1])::int AS used,
               extract(epoch FROM hot.room_in_window_at(w.times, w.totals, ${total}::bigint, ${max}::bigint, (${length})::interval))::float8 AS "roomAt"
          FROM hot.slide_window(${state.times}::text[]::timestamptz[], ${state.totals}::text[]::bigint[], ${total}::bigint, to_timestamp(${at}), (${length})::interval) w`,
  );
  if (!row) throw new Error('The function answers one row.');
  return row;
}

interface Question {
  readonly total: number;
  readonly at: number;
  readonly length: string;
  readonly max: number;
}

const BEGIN = Date.parse('2026-12-31T22:00:00Z') / 1_000;

describe('a sliding window', () => {
  const lengths = [
    ['1 minute', 60],
    ['3 hours', 10_800],
    ['1 day', 86_400],
    ['1 week', 604_800],
  ] as const;

  it('never holds more than its number in any stretch of its length, and nothing longer than a sixtieth more', async () => {
    const step = fc.record({
      gap: fc.double({ min: 0, max: 1, noNaN: true }),
      wanted: fc.integer({ min: 0, max: 60 }),
    });
    const cases = fc.record({
      length: fc.constantFrom(...lengths),
      max: fc.integer({ min: 1, max: 100 }),
      steps: fc.array(step, { minLength: 20, maxLength: 60 }),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ length: [length, seconds], max, steps }) => {
        let state: { times: string[]; totals: string[] } = { times: [], totals: [] };
        const sent: Sent[] = [];
        let [total, at] = [0, BEGIN];
        for (const { gap, wanted } of steps) {
          // Most gaps are small parts of the window, some are longer than it.
          at += Math.round(gap ** 6 * seconds * 1.5 * 1_000) / 1_000;
          const before = await windowAt(state, { total, at, length, max });
          expect(before.used).toBeLessThanOrEqual(countBetween(sent, at - seconds - seconds / SLOTS - 0.001, at));
          const count = Math.min(wanted, max - before.used);
          expect(count).toBeGreaterThanOrEqual(0);
          if (before.used >= max) await expectRoomAt(before, { total, length, max });
          total += count;
          sent.push({ at, count });
          state = await windowAt(before, { total, at, length, max });
          expect(state.times.length).toBeLessThanOrEqual(SLOTS + 2);
        }
        for (const { at: end } of sent) expect(countBetween(sent, end - seconds, end)).toBeLessThanOrEqual(max);
      }),
      { numRuns: drawn(10) },
    );
  });

  async function expectRoomAt(
    state: { times: string[]; totals: string[]; roomAt: number | null },
    question: Omit<Question, 'at'>,
  ): Promise<void> {
    const roomAt = state.roomAt ?? 0;
    expect((await windowAt(state, { ...question, at: roomAt - 0.001 })).used).toBeGreaterThanOrEqual(question.max);
    expect((await windowAt(state, { ...question, at: roomAt + 0.001 })).used).toBeLessThan(question.max);
  }

  it.each([
    ['2027-01-15T10:00:00Z', '2027-02-15T10:00:00Z'],
    ['2027-01-31T10:00:00Z', '2027-03-01T00:00:00Z'],
    ['2027-02-28T10:00:00Z', '2027-03-28T10:00:00Z'],
  ])('of a month goes by the calendar: what was sent at %s leaves it at %s', async (sentAt, leavesAt) => {
    const month = { length: '1 month', max: 10 };
    const at = Date.parse(sentAt) / 1_000;
    const empty = await windowAt({ times: [], totals: [] }, { ...month, total: 0, at });
    const full = await windowAt(empty, { ...month, total: 10, at });
    expect(full.roomAt).toBe(Date.parse(leavesAt) / 1_000);
    await expectRoomAt(full, { ...month, total: 10 });
  });

  it('of a number of 0 never has room', async () => {
    const none = { length: '1 hour', max: 0, total: 5 };
    expect((await windowAt({ times: [], totals: [] }, { ...none, at: BEGIN })).roomAt).toBeNull();
  });
});

describe("a plan's quota", () => {
  it('holds for random leases, sends and returns at random times, and takes nothing back later than it must', async () => {
    const max = 50;
    const customerId = await customerWith({
      sending_quota: String(max),
      sending_quota_time: '1',
      sending_quota_time_unit: 'day',
    });
    const acts = fc.array(
      fc.oneof(
        fc.record({ kind: fc.constant('lease' as const), n: fc.integer({ min: 1, max: 20 }) }),
        fc.record({ kind: fc.constant('end' as const), n: fc.integer({ min: 0, max: 20 }) }),
        fc.record({ kind: fc.constant('pass' as const), n: fc.integer({ min: 1, max: 25 }) }),
      ),
      { minLength: 200, maxLength: 300 },
    );
    const [sent, counted]: [Sent[], Sent[]] = [[], []];
    let at = 0;
    const play = async (
      { kind, n }: { kind: 'lease' | 'end' | 'pass'; n: number },
      open: { id: bigint; left: number }[],
    ) => {
      if (kind === 'pass') {
        at += n;
        await pass(customerId, n);
      } else if (kind === 'lease') {
        const reserved = open.reduce((sum, { left }) => sum + left, 0);
        const { sliceId, granted } = await lease(customerId, n);
        const must = countBetween(counted, at - SLOTS - 1, at) + reserved;
        expect(granted).toBeGreaterThanOrEqual(Math.min(n, max - must));
        if (sliceId !== null) open.push({ id: sliceId, left: granted });
      } else {
        const slice = open.shift();
        if (!slice) return;
        const count = Math.min(slice.left, n);
        await wereSent(customerId, count);
        sent.push({ at, count });
        counted.push({ at, count });
        await giveBack(customerId, slice.id);
      }
    };
    for (const list of fc.sample(acts, drawn(3))) {
      const open: { id: bigint; left: number }[] = [];
      for (const act of list) await play(act, open);
      while (open.length > 0) await play({ kind: 'end', n: 20 }, open);
    }
    expect(sent.reduce((sum, { count }) => sum + count, 0)).toBeGreaterThan(10 * max);
    for (const { at: end } of sent) expect(countBetween(sent, end - SLOTS, end)).toBeLessThanOrEqual(max);
    await pass(customerId, SLOTS + 1);
    expect(await usage(customerId)).toMatchObject({ quotaUsed: 0, quotaEndsAt: null, reserved: 0 });
  });

  it('lets no second one through around the end of a window that began with few messages', async () => {
    const customerId = await customerWith({
      sending_quota: '100',
      sending_quota_time: '1',
      sending_quota_time_unit: 'day',
    });
    const sends = async (wanted: number) => {
      const { sliceId, granted } = await lease(customerId, wanted);
      await wereSent(customerId, granted);
      if (sliceId !== null) await giveBack(customerId, sliceId);
      return granted;
    };
    expect(await sends(1)).toBe(1);
    await pass(customerId, SLOTS - 1);
    expect(await sends(200)).toBe(99);
    // A window that began with the first message would end here, and let another hundred through.
    await pass(customerId, 2);
    expect(await sends(200)).toBe(1);
    const { refusal, quotaEndsAt } = await lease(customerId, 1);
    expect(refusal).toBe('quota');
    const minutes = ((quotaEndsAt?.getTime() ?? 0) - Date.now()) / 60_000;
    expect(Math.round(minutes / SLOT_MINUTES)).toBe(SLOTS - 2);
  });

  it('is exact for eight workers at once, and again when the window has passed', async () => {
    const max = 300;
    const customerId = await customerWith({
      sending_quota: String(max),
      sending_quota_time: '1',
      sending_quota_time_unit: 'day',
    });
    const work = async () => {
      let sent = 0;
      // Enough tries for any share of the work; refusals end nothing, since others give back.
      for (let n = 0; n < 30; n++) {
        const { sliceId, granted } = await lease(customerId, 7);
        // Every third slice is given back unused in part.
        const used = n % 3 === 0 ? Math.min(granted, 4) : granted;
        await wereSent(customerId, used);
        if (sliceId !== null) await giveBack(customerId, sliceId);
        sent += used;
      }
      return sent;
    };
    for (let round = 0; round < 3; round++) {
      const sent = await Promise.all(Array.from({ length: 8 }, work));
      expect(sent.reduce((sum, n) => sum + n, 0)).toBeLessThanOrEqual(max);
      expect(await usage(customerId)).toMatchObject({ quotaUsed: sent.reduce((sum, n) => sum + n, 0), reserved: 0 });
      expect(sent.reduce((sum, n) => sum + n, 0)).toBeGreaterThan(max - 7);
      await pass(customerId, SLOTS + 1);
    }
  });

  it('keeps what was sent with an unknown outcome and is sent again, and what a deleted campaign sent', async () => {
    const customerId = await customerWith({
      sending_quota: '20',
      sending_quota_time: '1',
      sending_quota_time_unit: 'day',
    });
    const { sliceId } = await lease(customerId, 20);
    await wereSent(customerId, 20);
    await giveBack(customerId, sliceId ?? 0n);
    // Eight of them are sent again.
    await database.transaction(async (tx) => {
      await tx.execute(
        sql`UPDATE hot.delivery_counter SET sent = sent - 8, open = open + 8 WHERE customer_id = ${customerId}`,
      );
      await keepInQuota(tx, customerId, 8);
    });
    expect(await usage(customerId)).toMatchObject({ quotaUsed: 20 });
    await db.execute(sql`DELETE FROM hot.delivery_counter WHERE customer_id = ${customerId}`);
    expect(await usage(customerId)).toMatchObject({ quotaUsed: 20 });
    expect((await lease(customerId, 1)).refusal).toBe('quota');
    await pass(customerId, SLOTS + 1);
    expect((await lease(customerId, 30)).granted).toBe(20);
  });

  it('begins with nothing used when a plan has one again', async () => {
    const quota = { sending_quota: '10', sending_quota_time: '1', sending_quota_time_unit: 'month' };
    world.setClock(START);
    const [limited, free] = [
      await world.newPlan('0', { options: quota }),
      await world.newPlan('0', { options: { sending_quota: '-1' } }),
    ];
    const { ctx, id: customerId } = await world.newCustomer();
    await changePlan(ctx, { planUid: limited.uid });
    expect((await lease(customerId, 5)).granted).toBe(5);
    await changePlan(ctx, { planUid: free.uid });
    await lease(customerId, 500);
    await wereSent(customerId, 500);
    expect(await usage(customerId)).toMatchObject({ quotaUsed: 0, quotaMax: null, quotaEndsAt: null });
    await changePlan(ctx, { planUid: limited.uid });
    await db.execute(sql`DELETE FROM hot.send_slice WHERE customer_id = ${customerId}`);
    expect((await lease(customerId, 50)).granted).toBe(10);
  });
});
