/** What is written down is counted once, whoever dies, and nothing that cannot be counted holds up the rest. */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { appendTrackingEvents } from '../../../src/domain/tracking/tracking-event-store.ts';
import { moveTrackingEvents } from '../../../src/domain/tracking/move-tracking-events.ts';
import { restMs, startTrackingEventConsumer } from '../../../src/domain/tracking/tracking-event-consumer.ts';
import { sliceOf, type TrackingEventRow } from '../../../src/domain/tracking/tracking-event-slice.ts';
import type { TrackingEvent } from '../../../src/domain/tracking/tracking-event.ts';
import { createLog } from '../../../src/lib/log.ts';
import { seedCampaign, type SeededCampaign } from '../../support/audience-rows.ts';
import { moveAll, untilCounted } from '../../support/record-tracking-events.ts';
import { recipientOfCampaign } from '../../../src/domain/tracking/tracking.ts';
import { createTestContext } from '../../support/test-context.ts';

const ctx = await createTestContext();
await ctx.db.execute(sql`SELECT hot.ensure_partitions(current_date, current_date)`);
const visitor = { ip: '192.0.2.7', userAgent: 'Rea"der\\1, {x}', isMachine: false, looksAhead: false };

function open({ customerId, listId, campaignId, subscriberIds }: SeededCampaign, who: number): TrackingEvent {
  return {
    recipient: recipientOfCampaign({ customerId, listId, campaignId, subscriberId: subscriberIds[who] ?? 0n }),
    visitor,
    linkNo: null,
    url: null,
  };
}

async function opens({ campaignId }: SeededCampaign) {
  const [row] = await queryRows<{ counted: number; events: number; agents: string[] }>(
    ctx.db,
    sql`
    SELECT coalesce((SELECT open_count FROM hot.tracking_counter WHERE source_id = ${campaignId}), 0) AS counted, count(*)::int AS events,
           coalesce(array_agg(DISTINCT user_agent), '{}') AS agents FROM hot.open_event WHERE source_id = ${campaignId}`,
  );
  return row;
}

describe('a slice', () => {
  const at = (ms: number) => new Date(1_790_000_000_000 + ms);
  const row = (
    id: bigint,
    { from, to = from, size = 10 }: { from: number; to?: number; size?: number },
  ): TrackingEventRow => ({
    id,
    size,
    since: at(from),
    until: at(to),
  });
  const ids = (rows: readonly TrackingEventRow[], sizeMax = 1_000) =>
    sliceOf(rows, sizeMax).map(({ id }) => Number(id));

  test.each([
    ['none of none', [], 1_000, []],
    ['all that are within a second', [row(1n, { from: 0 }), row(2n, { from: 999 })], 1_000, [1, 2]],
    ['not what is further apart', [row(1n, { from: 0 }), row(2n, { from: 1_001 })], 1_000, [1]],
    [
      'what is later in line, but not in time',
      [row(1n, { from: 5_000 }), row(2n, { from: 0 }), row(3n, { from: 5_500 })],
      1_000,
      [1, 3],
    ],
    ['a row that is long by itself', [row(1n, { from: 0, to: 9_000 }), row(2n, { from: 100 })], 1_000, [1]],
    ['as many as it may have', [row(1n, { from: 0 }), row(2n, { from: 1 }), row(3n, { from: 2 })], 20, [1, 2]],
    ['one, however large', [row(1n, { from: 0, size: 500 }), row(2n, { from: 1 })], 20, [1]],
  ])('has %s', (_name, rows, sizeMax, expected) => {
    expect(ids(rows, sizeMax)).toEqual(expected);
  });
});

test.each([
  ['four slices in a crowd', { sliceMs: 100, lagMs: 1_000, isOverloaded: true }, 400],
  ['a second at most', { sliceMs: 900, lagMs: 1_000, isOverloaded: true }, 1_000],
  ['one slice when reports are late', { sliceMs: 100, lagMs: 5_000, isOverloaded: true }, 100],
  ['not at all when nobody comes', { sliceMs: 100, lagMs: 9_000, isOverloaded: false }, 0],
])('between slices it rests %s', (_name, after, expected) => {
  expect(restMs(after)).toBe(expected);
});

test('of six movers at once each visit is moved by one', async () => {
  const seeded = await seedCampaign(ctx.db, { subscribers: 40 });
  for (let row = 0; row < 60; row++)
    await appendTrackingEvents(ctx.db, [open(seeded, row % 40), open(seeded, (row * 7) % 40)]);
  await Promise.all(Array.from({ length: 6 }, () => moveTrackingEvents(ctx, { sizeMax: 10 })));
  await Promise.all(Array.from({ length: 6 }, () => moveAll(ctx)));
  expect(await opens(seeded)).toEqual({ counted: 120, events: 120, agents: [visitor.userAgent] });
});

test('a move that is cut off has moved nothing', async () => {
  const seeded = await seedCampaign(ctx.db, { subscribers: 2 });
  await appendTrackingEvents(ctx.db, [open(seeded, 0), open(seeded, 1)]);
  const { database } = ctx;
  const broken = {
    ...ctx,
    database: {
      ...database,
      transaction: <T>(work: Parameters<typeof database.transaction<T>>[0]) =>
        database.transaction(async (tx) => {
          await work(tx);
          throw new Error('Killed.');
        }),
    },
  };
  await expect(moveTrackingEvents(broken)).rejects.toThrow('Killed.');
  expect(await opens(seeded)).toMatchObject({ counted: 0, events: 0 });
  await moveAll(ctx);
  expect(await opens(seeded)).toMatchObject({ counted: 2, events: 2 });
});

test('what a dead process left is counted by another, without being told', async () => {
  const seeded = await seedCampaign(ctx.db, { subscribers: 2 });
  await appendTrackingEvents(ctx.db, [open(seeded, 0), open(seeded, 1)]);
  const follower = startTrackingEventConsumer(ctx);
  await untilCounted(ctx);
  expect(await opens(seeded)).toMatchObject({ counted: 2, events: 2 });
  await follower.close();
});

test('a visit that fits nowhere is dropped and said; those around it are counted', async () => {
  const seeded = await seedCampaign(ctx.db, { subscribers: 20 });
  // A number that its counter cannot hold: 22003, however often it is tried.
  await ctx.db
    .execute(sql`INSERT INTO hot.recipient_activity (customer_id, source_kind, source_id, recipient_id, open_count)
                           VALUES (${seeded.customerId}, 1, ${seeded.campaignId}, ${seeded.subscriberIds[7]}, 2147483647)`);
  for (let who = 0; who < 20; who += 4) {
    await appendTrackingEvents(
      ctx.db,
      [0, 1, 2, 3].map((more) => open(seeded, who + more)),
    );
  }
  const lines: string[] = [];
  const log = createLog({ level: 'warn', format: 'json', write: (line) => lines.push(line) });
  const follower = startTrackingEventConsumer({ ...ctx, log });
  await untilCounted(ctx);
  await follower.close();
  expect(await opens(seeded)).toMatchObject({ counted: 19, events: 19 });
  expect(lines.map((line) => (JSON.parse(line) as { event: string }).event)).toEqual(['tracking.event_lost']);
});
