import { describe, expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import type { Visitor } from '../../../src/domain/tracking/tracking.ts';
import { startTrackingEventConsumer } from '../../../src/domain/tracking/tracking-event-consumer.ts';
import { createTrackingEventRecorder } from '../../../src/domain/tracking/tracking-event-recorder.ts';
import type { TrackingEvent } from '../../../src/domain/tracking/tracking-event.ts';
import { seedCampaign, type SeededCampaign } from '../../support/audience-rows.ts';
import { moveAll, recordTrackingEvents, untilCounted } from '../../support/record-tracking-events.ts';
import { recipientOfCampaign } from '../../../src/domain/tracking/tracking.ts';
import { createTestContext } from '../../support/test-context.ts';

const ctx = await createTestContext();
await ctx.db.execute(sql`SELECT hot.ensure_partitions(current_date, current_date)`);
const person: Visitor = { ip: '192.0.2.7', userAgent: 'Reader/1', isMachine: false, looksAhead: false };
const scanner: Visitor = { ...person, isMachine: true, looksAhead: true };

function act(seeded: SeededCampaign, who: number, link?: number, visitor = person): TrackingEvent {
  const { customerId, listId, campaignId } = seeded;
  const subscriberId = seeded.subscriberIds[who] ?? 0n;
  const url = link === undefined ? null : `https://example.org/${link}`;
  const recipient = recipientOfCampaign({ customerId, listId, campaignId, subscriberId });
  return { recipient, visitor, linkNo: link ?? null, url };
}

async function figures({ customerId, campaignId, listId }: SeededCampaign) {
  const [row] = await queryRows(
    ctx.db,
    sql`
    SELECT t.open_count, t.uniq_open_count, t.click_count, t.uniq_click_count, l.openers, l.clickers,
           l.uniq_open_count::int AS list_opens, l.uniq_click_count::int AS list_clicks,
           (SELECT count(*)::int FROM hot.open_event e WHERE e.source_id = t.source_id) AS open_events,
           (SELECT count(*)::int FROM hot.click_event e WHERE e.source_id = t.source_id) AS click_events
      FROM hot.list_counter l LEFT JOIN hot.tracking_counter t ON t.customer_id = l.customer_id AND t.source_id = ${campaignId}
     WHERE l.customer_id = ${customerId} AND l.list_id = ${listId}`,
  );
  return row;
}

describe('recording opens and clicks', () => {
  test('tells first ones from further ones, in one batch and over many', async () => {
    const seeded = await seedCampaign(ctx.db, { subscribers: 5 });
    await recordTrackingEvents(ctx, [act(seeded, 0), act(seeded, 0), act(seeded, 1), act(seeded, 0, 0)]);
    await recordTrackingEvents(ctx, [
      act(seeded, 0),
      act(seeded, 2),
      act(seeded, 0, 0),
      act(seeded, 0, 1),
      act(seeded, 1, 0),
    ]);
    expect(await figures(seeded)).toEqual({
      open_count: 5,
      uniq_open_count: 3,
      click_count: 4,
      uniq_click_count: 2,
      openers: 3,
      clickers: 2,
      list_opens: 3,
      list_clicks: 2,
      open_events: 5,
      click_events: 4,
    });
    const links = await queryRows(
      ctx.db,
      sql`SELECT link_no, url, click_count, uniq_click_count FROM hot.link_counter WHERE source_id = ${seeded.campaignId} ORDER BY link_no`,
    );
    expect(links).toEqual([
      { link_no: 0, url: 'https://example.org/0', click_count: 3, uniq_click_count: 2 },
      { link_no: 1, url: 'https://example.org/1', click_count: 1, uniq_click_count: 1 },
    ]);
  });

  test('a click proves reading, once, whatever comes in which order', async () => {
    const seeded = await seedCampaign(ctx.db, { subscribers: 4 });
    await recordTrackingEvents(ctx, [act(seeded, 0, 1), act(seeded, 0, 1)]);
    expect(await figures(seeded)).toMatchObject({
      open_count: 1,
      uniq_open_count: 1,
      click_count: 2,
      openers: 1,
      open_events: 1,
    });
    await recordTrackingEvents(ctx, [act(seeded, 0, 2)]);
    await recordTrackingEvents(ctx, [act(seeded, 0)]);
    await recordTrackingEvents(ctx, [act(seeded, 0, 1)]);
    expect(await figures(seeded)).toMatchObject({
      open_count: 2,
      uniq_open_count: 1,
      click_count: 4,
      uniq_click_count: 1,
      open_events: 2,
    });
    await recordTrackingEvents(ctx, [act(seeded, 1)]);
    await recordTrackingEvents(ctx, [act(seeded, 1, 0)]);
    await recordTrackingEvents(ctx, [act(seeded, 1, 0)]);
    expect(await figures(seeded)).toMatchObject({
      open_count: 3,
      uniq_open_count: 2,
      click_count: 6,
      uniq_click_count: 2,
      openers: 2,
    });
  });

  test('a click is no open where the campaign counts none', async () => {
    const seeded = await seedCampaign(ctx.db, { subscribers: 1, trackOpen: false });
    await recordTrackingEvents(ctx, [act(seeded, 0, 0)]);
    expect(await figures(seeded)).toMatchObject({
      open_count: 0,
      uniq_open_count: 0,
      click_count: 1,
      openers: 0,
      clickers: 1,
      open_events: 0,
    });
  });

  test('a look ahead is kept but not counted', async () => {
    const seeded = await seedCampaign(ctx.db, { subscribers: 2 });
    await recordTrackingEvents(ctx, [act(seeded, 0, 0, scanner), act(seeded, 1, 0, scanner), act(seeded, 1, 0)]);
    expect(await figures(seeded)).toMatchObject({
      click_count: 1,
      uniq_click_count: 1,
      uniq_open_count: 1,
      clickers: 1,
      click_events: 3,
    });
  });

  test('an opener of two campaigns is one opener of the list', async () => {
    const first = await seedCampaign(ctx.db, { subscribers: 1 });
    const [second] = await queryRows<{ id: bigint }>(
      ctx.db,
      sql`INSERT INTO campaign (customer_id, uid, list_id, name) VALUES (${first.customerId}, 'abc', ${first.listId}, 'Second') RETURNING id`,
    );
    await recordTrackingEvents(ctx, [act(first, 0)]);
    await recordTrackingEvents(ctx, [act({ ...first, campaignId: second?.id ?? 0n }, 0), act(first, 0)]);
    expect(await figures(first)).toMatchObject({ openers: 1, list_opens: 2, open_count: 2 });
  });

  test('what is gone leaves no trace', async () => {
    const seeded = await seedCampaign(ctx.db, { subscribers: 1 });
    const gone = { ...seeded, campaignId: 999_999n };
    const stranger = { ...seeded, subscriberIds: [888_888n] };
    await recordTrackingEvents(ctx, [act(gone, 0), act(gone, 0, 1), act(stranger, 0), act(stranger, 0, 1)]);
    expect(await figures(seeded)).toMatchObject({ open_count: null, openers: 0, clickers: 0 });
    const [left] = await queryRows(
      ctx.db,
      sql`SELECT count(*)::int AS n FROM hot.click_event WHERE source_id IN (999999, ${seeded.campaignId})`,
    );
    expect(left).toEqual({ n: 0 });
  });
});

describe('the recorder', () => {
  test('answers after the commit; concurrent writers count exactly', async () => {
    const seeded = await seedCampaign(ctx.db, { subscribers: 300 });
    const recorders = [createTrackingEventRecorder(ctx), createTrackingEventRecorder(ctx)];
    const all: Promise<void>[] = [];
    for (let n = 0; n < 6_000; n++) {
      const { recipient } = act(seeded, (n * 7) % 300);
      const recorder = recorders[n % 2];
      if (n % 3 === 0) all.push(recorder?.open(recipient, person) ?? Promise.reject(new Error('none')));
      else
        all.push(
          recorder?.click({ ...recipient, linkNo: n % 4, url: 'https://example.org/' }, person) ??
            Promise.reject(new Error('none')),
        );
    }
    await Promise.all(all);
    await moveAll(ctx);
    const result = await figures(seeded);
    expect(result).toMatchObject({
      click_count: 4_000,
      uniq_open_count: 300,
      uniq_click_count: 200,
      openers: 300,
      click_events: 4_000,
    });
    expect(result?.['open_count']).toBe(result?.['open_events']);
    await Promise.all(recorders.map((recorder) => recorder.close()));
    await expect(recorders[0]?.open(act(seeded, 0).recipient, person)).rejects.toThrow('Closing');
  });

  test('makes the partition of a month that nobody prepared', async () => {
    const seeded = await seedCampaign(ctx.db, { subscribers: 1 });
    const [month] = await queryRows<{ name: string }>(ctx.db, sql`SELECT to_char(now(), 'YYYY_MM') AS name`);
    await ctx.database.pool.query(`DROP TABLE hot.open_event_${month?.name}`);
    const follower = startTrackingEventConsumer(ctx);
    const recorder = createTrackingEventRecorder(ctx, () => follower.wake());
    await recorder.open(act(seeded, 0).recipient, person);
    await untilCounted(ctx);
    expect(await figures(seeded)).toMatchObject({ open_count: 1, open_events: 1 });
    await recorder.close();
    await follower.close();
  });
});
