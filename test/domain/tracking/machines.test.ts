/** People told from machines (B13), on sequences of tracking events that are played against a real database. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { readCampaignStatistics } from '../../../src/domain/statistics/campaign-statistics-read-model.ts';
import { registerCampaignLinks } from '../../../src/domain/statistics/link-counter-store.ts';
import { judgeTrackingEvent } from '../../../src/domain/tracking/machine-request.ts';
import { createTrackingEventRecorder } from '../../../src/domain/tracking/tracking-event-recorder.ts';
import type { TrackingEvent } from '../../../src/domain/tracking/tracking-event.ts';
import { seedCampaign, type SeededCampaign } from '../../support/audience-rows.ts';
import { moveAll, recordTrackingEvents } from '../../support/record-tracking-events.ts';
import { createTestContext } from '../../support/test-context.ts';
import { recipientOfCampaign } from '../../../src/domain/tracking/tracking.ts';
import {
  LINKS,
  humanSequences,
  scannerSequences,
  seededRandom,
  type TrackingEventSequence,
} from '../../support/tracking-event-sequences.ts';

const ctx = await createTestContext();
await ctx.db.execute(sql`SELECT hot.ensure_partitions((current_date - 31)::date, current_date)`);

const url = (link: number) => `https://example.org/${link}`;

/** A campaign whose messages were handed over `agoMs` ago, one to each. */
async function delivered(
  subscribers: number,
  { agoMs, links }: { agoMs: number; links: number },
): Promise<SeededCampaign> {
  const seeded = await seedCampaign(ctx.db, { subscribers });
  const { customerId, campaignId, listId } = seeded;
  await ctx.db.execute(sql`UPDATE campaign SET snapshot_on = current_date WHERE id = ${campaignId}`);
  await ctx.db.execute(sql`
    INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, list_id, state, email, updated_at)
    SELECT current_date, ${customerId}, 1, ${campaignId}, id, list_id, 'sent', email, now() - make_interval(secs => ${agoMs / 1_000})
      FROM subscriber WHERE customer_id = ${customerId} AND list_id = ${listId}`);
  await ctx.db.execute(sql`INSERT INTO hot.delivery_counter (customer_id, source_kind, source_id, audience, sent)
                           VALUES (${customerId}, 1, ${campaignId}, ${subscribers}, ${subscribers})`);
  await registerCampaignLinks(ctx, {
    ...seeded,
    links: Array.from({ length: links }, (_, no) => ({ no, url: url(no) })),
  });
  return seeded;
}

const DAY_MS = 86_400_000;

/** Plays each sequence as one person's, tracking event by tracking event; tracking events of all people that have the same turn share a batch. */
async function play(seeded: SeededCampaign, sequences: readonly TrackingEventSequence[]): Promise<void> {
  const { customerId, campaignId, listId } = seeded;
  // By the clock that wrote it: on a busy machine what was done since then takes long, and scanners are told by seconds.
  const [delivery] = await queryRows<{ agoMs: number }>(
    ctx.db,
    sql`SELECT 1000 * extract(epoch FROM clock_timestamp() - min(updated_at))::float8 AS "agoMs"
          FROM hot.delivery WHERE source_id = ${campaignId}`,
  );
  const deliveredAt = performance.now() - (delivery?.agoMs ?? DAY_MS);
  const turns = Math.max(...sequences.map(({ trackingEvents }) => trackingEvents.length));
  for (let turn = 0; turn < turns; turn++) {
    const batch = sequences.flatMap(({ trackingEvents }, who): TrackingEvent[] => {
      const trackingEvent = trackingEvents[turn];
      // The pixel answers to HEAD without recording it.
      if (!trackingEvent || (trackingEvent.link === null && trackingEvent.method === 'HEAD')) return [];
      const { ip = '192.0.2.7', userAgent, link, method, purpose = null } = trackingEvent;
      return [
        {
          recipient: recipientOfCampaign({
            customerId,
            campaignId,
            listId,
            subscriberId: seeded.subscriberIds[who] ?? 0n,
          }),
          visitor: { ip, userAgent, ...judgeTrackingEvent({ method, userAgent, purpose, ip }) },
          linkNo: link,
          url: link === null ? null : url(link),
          cameAt: deliveredAt + trackingEvent.at,
        },
      ];
    });
    if (batch.length > 0) await recordTrackingEvents(ctx, batch);
  }
}

/** Share of the sequences of which nothing, or anything, was taken for a person's. */
async function takenForPeople(seeded: SeededCampaign, sequences: readonly TrackingEventSequence[]) {
  const rows = await queryRows<{ id: bigint; people: number; all: number }>(
    ctx.db,
    sql`
    SELECT recipient_id AS id, count(*) FILTER (WHERE NOT is_machine)::int AS people, count(*)::int AS all
      FROM (SELECT recipient_id, is_machine FROM hot.open_event WHERE source_id = ${seeded.campaignId} AND NOT by_click
            UNION ALL SELECT recipient_id, is_machine FROM hot.click_event WHERE source_id = ${seeded.campaignId}) e
     GROUP BY recipient_id`,
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  return sequences.map(({ kind }, who) => {
    const { people, all } = byId.get(seeded.subscriberIds[who] ?? 0n) ?? {};
    return { kind, people, all };
  });
}

test('at least 95 % of scanners are found out, all of their visits; people are taken for machines in at most 1 %', async () => {
  const random = seededRandom(7);
  const scanners = scannerSequences(600, random);
  const ofScanners = await delivered(scanners.length, { agoMs: DAY_MS, links: LINKS });
  await play(ofScanners, scanners);
  const seen = await takenForPeople(ofScanners, scanners);
  const missed = seen.filter(({ people = 0 }) => people > 0);
  expect(missed.length / scanners.length, JSON.stringify(missed.slice(0, 5))).toBeLessThanOrEqual(0.05);

  const people = humanSequences(2_000, random);
  const ofPeople = await delivered(people.length, { agoMs: DAY_MS, links: LINKS });
  await play(ofPeople, people);
  const judged = await takenForPeople(ofPeople, people);
  const wronged = judged.filter(({ people: found = 0, all = 0 }) => found < all);
  expect(wronged.length / people.length, JSON.stringify(wronged.slice(0, 5))).toBeLessThanOrEqual(0.01);
  // Everything is kept, whoever did it.
  expect(judged.map(({ all }) => all)).toEqual(people.map(({ trackingEvents }) => trackingEvents.length));
  console.info(
    `scanners missed: ${missed.length} of ${scanners.length}; people wronged: ${wronged.length} of ${people.length}`,
  );
});

const browser = {
  ip: '192.0.2.7',
  userAgent: 'Mozilla/5.0 (Windows NT 10.0) Firefox/127.0',
  isMachine: false,
  looksAhead: false,
};

function clicksOf(
  { customerId, campaignId, listId, subscriberIds }: SeededCampaign,
  start = performance.now() - 60_000,
) {
  return (link: number | null, afterMs: number, visitor = browser): TrackingEvent => ({
    recipient: recipientOfCampaign({ customerId, campaignId, listId, subscriberId: subscriberIds[0] ?? 0n }),
    visitor,
    linkNo: link,
    url: link === null ? null : url(link),
    cameAt: start + afterMs,
  });
}

async function human(seeded: SeededCampaign) {
  const [figures] = await readCampaignStatistics(ctx, [seeded]);
  const {
    openCount,
    uniqOpenCount,
    clickCount,
    humanOpenCount = 0,
    impliedOpenCount = 0,
    humanUniqOpenCount,
    humanClickCount,
    humanUniqClickCount,
  } = figures ?? {};
  const all = [openCount, uniqOpenCount, clickCount];
  const opens = `${humanOpenCount} and ${impliedOpenCount} implied`;
  return { all, people: [opens, humanUniqOpenCount, humanClickCount, humanUniqClickCount] };
}

/** An open that a click implies is no display, whoever clicked (decision D63). */
const IMPLIED = '0 and 1 implied';

test('the first clicks of a run are taken back when the third comes, counters and all', async () => {
  const seeded = await delivered(1, { agoMs: DAY_MS, links: LINKS });
  const click = clicksOf(seeded);
  await recordTrackingEvents(ctx, [click(0, 0)]);
  await recordTrackingEvents(ctx, [click(1, 400)]);
  expect(await human(seeded)).toEqual({ all: [1, 1, 2], people: [IMPLIED, 1, 2, 1] });
  await recordTrackingEvents(ctx, [click(2, 800)]);
  expect(await human(seeded)).toEqual({ all: [1, 1, 3], people: [IMPLIED, 0, 0, 0] });
  const [left] = await queryRows(
    ctx.db,
    sql`
    SELECT (SELECT count(*)::int FROM hot.click_event WHERE source_id = ${seeded.campaignId} AND NOT is_machine) AS clicks,
           (SELECT count(*)::int FROM hot.open_event WHERE source_id = ${seeded.campaignId} AND NOT is_machine) AS opens`,
  );
  expect(left).toEqual({ clicks: 0, opens: 0 });
  // The person comes later.
  await recordTrackingEvents(ctx, [click(1, 30_000)]);
  expect(await human(seeded)).toEqual({ all: [1, 1, 4], people: [IMPLIED, 1, 1, 1] });
});

test('what is earlier than the run, and slower clicks, stay a person’s', async () => {
  const seeded = await delivered(1, { agoMs: DAY_MS, links: LINKS });
  const click = clicksOf(seeded);
  await recordTrackingEvents(ctx, [click(null, 0)]);
  await recordTrackingEvents(ctx, [click(5, 2_000)]);
  await recordTrackingEvents(ctx, [click(0, 10_000), click(1, 10_001), click(2, 10_002)]);
  expect(await human(seeded)).toEqual({ all: [1, 1, 4], people: ['1 and 0 implied', 1, 1, 1] });
  // Three links in three seconds, all in one batch that waited for its database.
  await recordTrackingEvents(ctx, [click(0, 20_000), click(1, 21_500), click(2, 23_000)]);
  expect(await human(seeded)).toEqual({ all: [1, 1, 7], people: ['1 and 0 implied', 1, 4, 1] });
});

test('of a message with two links, both within a second are a machine’s; the same link twice is a person’s', async () => {
  const seeded = await delivered(1, { agoMs: DAY_MS, links: 2 });
  const click = clicksOf(seeded);
  await recordTrackingEvents(ctx, [click(0, 0), click(0, 200)]);
  expect(await human(seeded)).toMatchObject({ people: [IMPLIED, 1, 2, 1] });
  await recordTrackingEvents(ctx, [click(1, 900)]);
  expect(await human(seeded)).toMatchObject({ all: [1, 1, 3], people: [IMPLIED, 0, 0, 0] });
});

test('runs of two hundred people through three processes at once are all taken back, and nothing is counted twice', async () => {
  const people = 200;
  const seeded = await delivered(people, { agoMs: DAY_MS, links: LINKS });
  const { customerId, campaignId, listId } = seeded;
  const recorders = [
    createTrackingEventRecorder(ctx),
    createTrackingEventRecorder(ctx),
    createTrackingEventRecorder(ctx),
  ];
  await Promise.all(
    seeded.subscriberIds.flatMap((subscriberId) =>
      recorders.map((recorder, linkNo) =>
        recorder.click(
          { ...recipientOfCampaign({ customerId, campaignId, listId, subscriberId }), linkNo, url: url(linkNo) },
          browser,
        ),
      ),
    ),
  );
  await Promise.all(recorders.map((recorder) => recorder.close()));
  await moveAll(ctx);
  expect(await human(seeded)).toEqual({
    all: [people, people, 3 * people],
    people: [`0 and ${people} implied`, 0, 0, 0],
  });
  const [left] = await queryRows(
    ctx.db,
    sql`
    SELECT (SELECT count(*)::int FROM hot.click_event WHERE source_id = ${campaignId} AND NOT is_machine) AS clicks,
           (SELECT count(*)::int FROM hot.open_event WHERE source_id = ${campaignId} AND NOT is_machine) AS opens`,
  );
  expect(left).toEqual({ clicks: 0, opens: 0 });
});

test('machines and people are counted beside one another', async () => {
  const seeded = await delivered(2, { agoMs: DAY_MS, links: LINKS });
  const click = clicksOf(seeded);
  const proxy = { ...browser, userAgent: 'Mozilla/5.0', isMachine: true };
  await recordTrackingEvents(ctx, [click(null, 0, proxy), click(null, 1, proxy), click(null, 2), click(3, 3, proxy)]);
  const [figures] = await readCampaignStatistics(ctx, [seeded]);
  expect(figures).toMatchObject({
    ...{
      openCount: 3,
      uniqOpenCount: 1,
      humanOpenCount: 1,
      humanUniqOpenCount: 1,
      machineOpenCount: 2,
      humanUniqOpenRate: 0.5,
    },
    ...{
      clickCount: 1,
      humanClickCount: 0,
      humanUniqClickCount: 0,
      machineClickCount: 1,
      clickRate: 0.5,
      humanClickRate: 0,
    },
  });
});

test('an address or a program that is nobody’s is a machine, whatever its case; people’s programs are not', () => {
  const judge = (userAgent: string, ip = '192.0.2.7') =>
    judgeTrackingEvent({ method: 'GET', userAgent, purpose: null, ip }).isMachine;
  const machines = [
    '',
    ' ',
    'Mozilla/5.0',
    'CURL/8.5',
    'Slackbot 1.0',
    'TelegramBot (like TwitterBot)',
    'Proofpoint-UD',
    'HeadlessChrome/126.0',
  ];
  expect(machines.filter((agent) => !judge(agent))).toEqual([]);
  const people = [
    'Mozilla/5.0 (X11) Firefox/127.0',
    'Mozilla/5.0 (Linux; Android 14) Telegram-Android/10.9',
    'Mozilla/5.0 (via ggpht.com GoogleImageProxy)',
  ];
  expect(people.filter((agent) => judge(agent))).toEqual([]);
  expect(
    ['40.92.1.1', '104.47.0.1', '2a01:111:f403::25', '67.231.152.9'].filter((ip) => !judge('Firefox/127.0', ip)),
  ).toEqual([]);
  expect(judge('Firefox/127.0', '40.94.0.1')).toBe(false);
});
