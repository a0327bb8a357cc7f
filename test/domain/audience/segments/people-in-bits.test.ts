/** What is kept of people as bits: the same as the rows, whatever becomes of people, lists, campaigns and the ledger; and read instead of them. */
import { beforeEach, expect, test } from 'vitest';
import { queryRows } from '../../../../scripts/support/query-rows.ts';
import { sql } from '../../../../src/db/database.ts';
import { parseRule } from '../../../../src/domain/audience/segments/parse-rule.ts';
import { countPeople, peoplePage } from '../../../../src/domain/audience/segments/segment-read-model.ts';
import { eraseSubscriber } from '../../../../src/domain/audience/subscriber-store.ts';
import { refreshReceived } from '../../../../src/domain/delivery/campaigns/refresh-received.ts';
import { decideUnknown } from '../../../../src/domain/delivery/ledger/unknown-outcome-store.ts';
import type { TrackingEvent } from '../../../../src/domain/tracking/tracking-event.ts';
import { seedCampaign, type SeededCampaign } from '../../../support/audience-rows.ts';
import { wrongBits } from '../../../support/bits.ts';
import { countStatements } from '../../../support/count-statements.ts';
import { countingReads } from '../../../support/read-counter.ts';
import { recordTrackingEvents } from '../../../support/record-tracking-events.ts';
import { recipientOfCampaign } from '../../../../src/domain/tracking/tracking.ts';
import { ledgerOfCampaign } from '../../../../src/domain/delivery/ledger/delivery.ts';
import { createTestContext } from '../../../support/test-context.ts';

const PEOPLE = 3_000;
const ctx = await createTestContext();
const { db } = ctx;
await db.execute(sql`SELECT hot.ensure_partitions(current_date, current_date)`);
const today = new Date().toISOString().slice(0, 10);

let seeded: SeededCampaign;

/** Sent to all but every tenth, of whom nobody knows. */
beforeEach(async () => {
  seeded = await seedCampaign(db, { subscribers: PEOPLE });
  const { customerId, listId, campaignId } = seeded;
  await db.execute(sql`
    UPDATE campaign SET snapshot_on = ${today}::date, started_at = now(), status = 'done' WHERE id = ${campaignId}`);
  await db.execute(sql`
    INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, email, state, updated_at)
    SELECT ${today}::date, customer_id, 1, ${campaignId}, id, email, CASE WHEN id % 10 = 0 THEN 'unknown' ELSE 'sent' END::hot.delivery_state, now() - interval '1 hour'
      FROM subscriber WHERE customer_id = ${customerId} AND list_id = ${listId}`);
  await db.execute(sql`
    INSERT INTO hot.delivery_counter (customer_id, source_kind, source_id, audience, sent, unknown)
    SELECT customer_id, 1, source_id, count(*), count(*) FILTER (WHERE state = 'sent'), count(*) FILTER (WHERE state = 'unknown')
      FROM hot.delivery WHERE source_id = ${campaignId} GROUP BY 1, 3`);
});

const unknown = () => seeded.subscriberIds.filter((id) => id % 10n === 0n).length;
const refresh = () => refreshReceived(ctx, { peopleMin: 1 });
const ruleOf = (rule: unknown) => ({ customerId: seeded.customerId, listId: seeded.listId, rule: parseRule(rule) });
const RECEIVED = { received: {} };

/** How many the rule picks, and how many rows of tables of this name were read for it. */
async function counted(rule: unknown, table: string): Promise<{ count: number; read: number }> {
  const { database, rowsRead } = countingReads(ctx.database, table);
  const { count } = await countPeople({ ...ctx, database }, ruleOf(rule));
  return { count, read: rowsRead() };
}

function visits(count: number): TrackingEvent[] {
  const { customerId, listId, campaignId, subscriberIds } = seeded;
  const visitor = { ip: null, userAgent: null, isMachine: false, looksAhead: false };
  return subscriberIds.slice(0, count).map((subscriberId, no) => ({
    recipient: recipientOfCampaign({ customerId, listId, campaignId, subscriberId }),
    visitor,
    linkNo: no % 2 === 0 ? null : 1,
    url: no % 2 === 0 ? null : 'https://example.org/1',
  }));
}

test('who received a campaign is read from the ledger first, and then from bits alone', async () => {
  expect(await counted(RECEIVED, 'delivery_2')).toMatchObject({ count: PEOPLE - unknown() });
  expect(await refresh()).toBe(1);
  expect(await refresh()).toBe(0);
  // Where the planner knows that a campaign is all of the ledger.
  await db.execute(sql`ANALYZE`);
  expect(await counted(RECEIVED, 'delivery_2')).toEqual({ count: PEOPLE - unknown(), read: 0 });
  expect(await wrongBits(db)).toEqual([]);
});

test('a message of unknown fate that counts as sent afterwards counts at once', async () => {
  await refresh();
  await decideUnknown(db, ledgerOfCampaign({ ...seeded, snapshotOn: today }), 'accept');
  expect((await counted(RECEIVED, 'delivery_2')).count).toBe(PEOPLE);
  expect(await refresh()).toBe(1);
  expect(await counted(RECEIVED, 'delivery_2')).toEqual({ count: PEOPLE, read: 0 });
});

test('a campaign under way is read from the ledger', async () => {
  await db.execute(sql`UPDATE campaign SET status = 'sending' WHERE id = ${seeded.campaignId}`);
  expect(await refresh()).toBe(0);
  expect((await counted(RECEIVED, 'delivery_2')).count).toBe(PEOPLE - unknown());
});

test('counters that were wrong and are put right take the bits with them', async () => {
  await refresh();
  await db.execute(
    sql`UPDATE hot.delivery_counter SET sent = sent - 1, unknown = unknown + 1 WHERE source_id = ${seeded.campaignId}`,
  );
  expect(
    await queryRows(db, sql`SELECT 1 FROM hot.received_campaign WHERE campaign_id = ${seeded.campaignId}`),
  ).toEqual([]);
  expect((await counted(RECEIVED, 'delivery_2')).count).toBe(PEOPLE - unknown());
});

test('opens and clicks are read from bits alone', async () => {
  await recordTrackingEvents(ctx, visits(1_000));
  expect(await counted({ opened: { campaigns: { last: 1 } } }, 'recipient_activity')).toEqual({
    count: 1_000,
    read: 0,
  });
  expect(await counted({ clicked: { campaigns: { last: 1 }, peopleOnly: true } }, 'recipient_activity')).toEqual({
    count: 500,
    read: 0,
  });
  expect(await counted({ none: [{ opened: {} }] }, 'subscriber_activity')).toEqual({ count: PEOPLE - 1_000, read: 0 });
  expect(await counted({ opened: { inLastDays: 7 } }, 'recipient_activity')).toEqual({ count: 1_000, read: 0 });
  expect(await wrongBits(db)).toEqual([]);
});

test('nothing is left of people, campaigns and lists that are gone', async () => {
  await recordTrackingEvents(ctx, visits(100));
  await refresh();
  const { customerId, listId, campaignId, subscriberIds } = seeded;
  await eraseSubscriber(db, { customerId, listId, id: subscriberIds[0] ?? 0n });
  const openers = await queryRows(
    db,
    sql`SELECT sum(bit_count(opened))::int AS n FROM hot.list_activity_block WHERE list_id = ${listId}`,
  );
  expect(openers).toEqual([{ n: 99 }]);
  expect((await counted({ opened: {} }, 'subscriber_activity')).count).toBe(99);
  await db.execute(sql`DELETE FROM campaign WHERE id = ${campaignId}`);
  expect((await counted(RECEIVED, 'delivery_2')).count).toBe(0);
  await db.execute(sql`UPDATE subscriber SET tags = '{Gone}' WHERE list_id = ${listId}`);
  await db.execute(sql`DELETE FROM mail_list WHERE id = ${listId}`);
  const left = await queryRows(
    db,
    sql`
    SELECT 'campaign' AS of FROM hot.campaign_activity_block WHERE campaign_id = ${campaignId}
    UNION ALL SELECT 'received' FROM hot.received_block WHERE campaign_id = ${campaignId}
    UNION ALL SELECT 'kept' FROM hot.received_campaign WHERE campaign_id = ${campaignId}
    UNION ALL SELECT 'list' FROM hot.list_activity_block WHERE list_id = ${listId}
    UNION ALL SELECT 'tag' FROM hot.tag_spelling WHERE list_id = ${listId}`,
  );
  expect(left).toEqual([]);
});

test('a numbered page asks the rule once, wherever it is', async () => {
  await refresh();
  const everybody = seeded.subscriberIds.filter((id) => id % 10n !== 0n);
  for (const offset of [0, 63, 1_300, everybody.length - 7, everybody.length]) {
    const { result, statements } = await countStatements(() =>
      peoplePage(ctx, ruleOf(RECEIVED), { offset, limit: 25 }),
    );
    expect(result.total).toBe(everybody.length);
    expect(result.nodes.map(({ id }) => id)).toEqual(everybody.slice(offset, offset + 25));
    expect(statements.filter((text) => text.includes('received_block'))).toHaveLength(1);
  }
});

test('counting by many campaigns is counting the rows', async () => {
  const rows = await queryRows<{ k: number; ids: number[] }>(
    db,
    sql`
    WITH kept AS (SELECT array_agg(members) AS members FROM (
           SELECT bit_or(hot.person_bit(id)) AS members FROM generate_series(0, 19) no, generate_series(0, 60) id WHERE no < id % 21 GROUP BY no) m),
         reached AS MATERIALIZED (SELECT k, hot.bits_in_at_least(members, k) AS bits FROM kept, generate_series(1, 22) k)
    SELECT k, ARRAY(SELECT id FROM generate_series(0, 2047) id WHERE get_bit(bits, id) = 1) AS ids FROM reached`,
  );
  // Person 5 is in five of the twenty, and so are 26 and 47.
  const expected = (k: number) => Array.from({ length: 61 }, (_, id) => id).filter((id) => id % 21 >= k);
  for (const { k, ids } of rows) expect(ids, `${k}`).toEqual(k > 20 ? [] : expected(k));
});

test('a spelling that comes later is found, by whatever way it comes', async () => {
  const vips = async () => (await counted({ tags: { hasAny: ['vip'] } }, 'x')).count;
  expect(await vips()).toBe(0);
  await db.execute(sql`UPDATE subscriber SET tags = '{new,ViP}' WHERE list_id = ${seeded.listId} AND id % 3 = 0`);
  expect(await vips()).toBe(seeded.subscriberIds.filter((id) => id % 3n === 0n).length);
});
