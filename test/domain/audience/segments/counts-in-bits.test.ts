/** How often people opened and clicked, and which links, kept as bits: made by the job, believed until something happens, and equal to the rows. */
import { beforeEach, expect, test } from 'vitest';
import { queryRows } from '../../../../scripts/support/query-rows.ts';
import { raw, sql } from '../../../../src/db/database.ts';
import { parseRule } from '../../../../src/domain/audience/segments/parse-rule.ts';
import { refreshCounts } from '../../../../src/domain/audience/segments/refresh-counts.ts';
import { countPeople } from '../../../../src/domain/audience/segments/segment-read-model.ts';
import type { TrackingEvent } from '../../../../src/domain/tracking/tracking-event.ts';
import { seedCampaign, type SeededCampaign } from '../../../support/audience-rows.ts';
import { wrongBits } from '../../../support/bits.ts';
import { countingReads } from '../../../support/read-counter.ts';
import { recordTrackingEvents } from '../../../support/record-tracking-events.ts';
import { recipientOfCampaign } from '../../../../src/domain/tracking/tracking.ts';
import { createTestContext } from '../../../support/test-context.ts';

/** More than a block of 2,048 ids. */
const PEOPLE = 3_000;
const ctx = await createTestContext();
const { db } = ctx;
await db.execute(sql`SELECT hot.ensure_partitions(current_date, current_date)`);

let seeded: SeededCampaign;

/** Everybody opened once, every second person twice, every third clicked the first link, every fifth both. */
beforeEach(async () => {
  seeded = await seedCampaign(db, { subscribers: PEOPLE });
  await db.execute(
    sql`UPDATE campaign SET started_at = now() - interval '9 days', status = 'done' WHERE id = ${seeded.campaignId}`,
  );
  const opens = [...everyNth(1), ...everyNth(2)].map(opened);
  await recordTrackingEvents(ctx, [...opens, ...everyNth(3).map(clicked(1)), ...everyNth(5).map(clicked(2))]);
});

const everyNth = (n: number) => seeded.subscriberIds.filter((_, no) => no % n === 0);
const both = (n: number, m: number) => seeded.subscriberIds.filter((_, no) => no % n === 0 && no % m === 0);
const refresh = () => refreshCounts(ctx, { peopleMin: 1 });

function visit(subscriberId: bigint, linkNo: number | null): TrackingEvent {
  const { customerId, listId, campaignId } = seeded;
  return {
    recipient: recipientOfCampaign({ customerId, listId, campaignId, subscriberId }),
    visitor: { ip: null, userAgent: null, isMachine: false, looksAhead: false },
    linkNo,
    url: linkNo === null ? null : `https://example.org/${linkNo === 1 ? 'Sale' : 'news'}`,
  };
}

const opened = (id: bigint) => visit(id, null);
const clicked = (linkNo: number) => (id: bigint) => visit(id, linkNo);

/** As if all of it had happened so many days before. */
async function daysPass(days: number): Promise<void> {
  await db.execute(
    sql`UPDATE hot.campaign_activity_block SET last_on = last_on - ${days}::int WHERE campaign_id = ${seeded.campaignId}`,
  );
  await db.execute(
    sql`UPDATE hot.tracking_counter SET last_open_at = last_open_at - make_interval(days => ${days}), last_click_at = last_click_at - make_interval(days => ${days}) WHERE source_id = ${seeded.campaignId}`,
  );
  await db.execute(
    sql`UPDATE hot.counted_campaign SET counted_on = counted_on - ${days}::int WHERE campaign_id = ${seeded.campaignId}`,
  );
}

const TWICE = { opened: { atLeast: 2 } };
const SALE = { clicked: { linkContains: 'SALE' } };

/** How many the rule picks, and how many rows of these tables were read for it. */
async function counted(rule: unknown): Promise<{ count: number; read: number }> {
  const { database, rowsRead } = countingReads(ctx.database, 'recipient_');
  const list = { customerId: seeded.customerId, listId: seeded.listId };
  const { count } = await countPeople({ ...ctx, database }, { ...list, rule: parseRule(rule) });
  return { count, read: rowsRead() };
}

test('how often, and which link, is read from bits alone when nothing has happened since', async () => {
  await daysPass(3);
  expect(await counted(TWICE)).toMatchObject({ count: everyNth(2).length });
  expect((await counted(TWICE)).read).toBeGreaterThanOrEqual(PEOPLE);
  expect((await counted(SALE)).read).toBeGreaterThanOrEqual(everyNth(3).length);
  expect(await refresh()).toBe(1);
  expect(await refresh()).toBe(0);
  expect(await counted(TWICE)).toEqual({ count: everyNth(2).length, read: 0 });
  expect(await counted({ opened: { atLeast: 3 } })).toEqual({ count: 0, read: 0 });
  expect(await counted(SALE)).toEqual({ count: everyNth(3).length, read: 0 });
  expect(await counted({ clicked: { linkContains: 'example' } })).toEqual({
    count: everyNth(3).length + everyNth(5).length - both(3, 5).length,
    read: 0,
  });
  expect(await counted({ clicked: { atLeast: 2 } })).toEqual({ count: both(3, 5).length, read: 0 });
  expect(await wrongBits(db)).toEqual([]);
});

test('what happens afterwards counts at once, and only the people nearby are read', async () => {
  await daysPass(3);
  await refresh();
  const [first = 0n] = both(3, 2);
  await recordTrackingEvents(ctx, [opened(first), clicked(2)(first)]);
  const thrice = await counted({ opened: { atLeast: 3 } });
  expect(thrice.count).toBe(1);
  expect(thrice.read).toBeGreaterThan(0);
  expect(thrice.read).toBeLessThanOrEqual(2_048);
  expect((await counted({ clicked: { linkContains: 'news' } })).count).toBe(everyNth(5).length);
  const [other = 0n] = seeded.subscriberIds.slice(1);
  await recordTrackingEvents(ctx, [clicked(2)(other)]);
  expect((await counted({ clicked: { linkContains: 'news' } })).count).toBe(everyNth(5).length + 1);
  expect(await wrongBits(db)).toEqual([]);
});

test('the bits are made anew on a later day, when something has happened', async () => {
  await daysPass(3);
  await refresh();
  await recordTrackingEvents(ctx, [opened(everyNth(2)[0] ?? 0n)]);
  expect(await refresh()).toBe(0);
  await daysPass(2);
  expect((await counted({ opened: { atLeast: 3 } })).read).toBeGreaterThan(0);
  expect(await refresh()).toBe(1);
  expect(await counted({ opened: { atLeast: 3 } })).toEqual({ count: 1, read: 0 });
  await daysPass(2);
  expect(await refresh()).toBe(0);
  expect(await wrongBits(db)).toEqual([]);
});

test('what happened today is read from the rows, also when bits have been made', async () => {
  expect(await refresh()).toBe(1);
  const { count, read } = await counted(TWICE);
  expect(count).toBe(everyNth(2).length);
  expect(read).toBeGreaterThan(0);
});

test('with a campaign goes what is kept of it', async () => {
  await daysPass(3);
  await refresh();
  await db.execute(sql`DELETE FROM campaign WHERE id = ${seeded.campaignId}`);
  expect((await counted(TWICE)).count).toBe(0);
  expect(await queryRows(db, sql`SELECT 1 FROM hot.counted_campaign WHERE campaign_id = ${seeded.campaignId}`)).toEqual(
    [],
  );
});

test('adding in bits is adding the numbers', async () => {
  // Person p has p % 7 and p % 50 and, from three rows of one digit, up to 3.
  const rows = await queryRows<{ wanted: number; ids: number[] }>(
    db,
    sql`
    WITH number AS (
      SELECT p, n FROM generate_series(0, 2047) p, LATERAL (VALUES (p % 7), (p % 50), ((p > 9)::int), ((p > 99)::int), ((p > 999)::int)) v (n)
    ), row_of_bits AS (
      SELECT no, digit::smallint AS digit, bit_or(hot.person_bit(p)) AS members
        FROM (SELECT p, n, row_number() OVER (PARTITION BY p) AS no FROM number) x, generate_series(0, 6) digit WHERE n >> digit & 1 = 1 GROUP BY 1, 2
    ), reached AS MATERIALIZED (
      SELECT wanted, (SELECT hot.bits_that_reach(array_agg(members), array_agg(digit), wanted) FROM row_of_bits) AS bits FROM generate_series(1, 70) wanted)
    SELECT wanted, ARRAY(SELECT p FROM generate_series(0, 2047) p WHERE get_bit(bits, p) = 1) AS ids FROM reached`,
  );
  const sum = (p: number) => (p % 7) + (p % 50) + (p > 9 ? 1 : 0) + (p > 99 ? 1 : 0) + (p > 999 ? 1 : 0);
  const expected = (wanted: number) => Array.from({ length: 2_048 }, (_, p) => p).filter((p) => sum(p) >= wanted);
  expect(rows).toHaveLength(70);
  for (const { wanted, ids } of rows) expect(ids, `${wanted}`).toEqual(expected(wanted));
});

test('a campaign whose bits cannot be made is told of, and keeps none of the others waiting', async () => {
  const newer = await seedCampaign(db, { subscribers: 3 });
  await db.execute(
    sql`UPDATE campaign SET started_at = now() - interval '8 days', status = 'done' WHERE id = ${newer.campaignId}`,
  );
  await recordTrackingEvents(
    ctx,
    newer.subscriberIds.map((subscriberId) => ({
      ...opened(subscriberId),
      recipient: recipientOfCampaign({ ...newer, subscriberId }),
    })),
  );
  await db.execute(
    raw(`ALTER TABLE hot.campaign_count_block ADD CONSTRAINT broken CHECK (campaign_id <> ${newer.campaignId})`),
  );
  const told: unknown[] = [];
  const log = { ...ctx.log, warn: (event: string, fields?: object) => void told.push([event, fields]) };
  const kept = () => queryRows<{ id: bigint }>(db, sql`SELECT campaign_id AS id FROM hot.counted_campaign`);
  await refreshCounts({ ...ctx, log }, { peopleMin: 1 });
  const ids = (await kept()).map(({ id }) => id);
  expect(ids).toContain(seeded.campaignId);
  expect(ids).not.toContain(newer.campaignId);
  expect(told).toEqual([['counts.failed', expect.objectContaining({ campaignId: newer.campaignId })]]);
  await db.execute(raw('ALTER TABLE hot.campaign_count_block DROP CONSTRAINT broken'));
});
