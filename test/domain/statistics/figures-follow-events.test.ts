/** Every figure of a campaign and a list equals what its event rows and its ledger say, whatever happened in which order. */
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { fc } from '../../support/property.ts';
import { expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { listCounters, listStatistics } from '../../../src/domain/audience/list-counter-store.ts';
import { readCampaignStatistics } from '../../../src/domain/statistics/campaign-statistics-read-model.ts';
import {
  readCampaignLinks,
  readTopLocations,
  readTopOpeners,
} from '../../../src/domain/statistics/campaign-toplists-read-model.ts';
import { registerCampaignLinks } from '../../../src/domain/statistics/link-counter-store.ts';
import { rate } from '../../../src/domain/statistics/rate.ts';
import { recordDeliveryReport } from '../../../src/domain/tracking/record-delivery-report.ts';
import { recordUnsubscribe } from '../../../src/domain/tracking/record-unsubscribe.ts';
import type { TrackingEvent } from '../../../src/domain/tracking/tracking-event.ts';
import { deliveryMessageId } from '../../../src/domain/tracking/delivery-message-id.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import { seedCampaign, type SeededCampaign } from '../../support/audience-rows.ts';
import { wrongBits } from '../../support/bits.ts';
import { recordTrackingEvents } from '../../support/record-tracking-events.ts';
import { createTenant } from '../../support/tenant.ts';
import { recipientOfCampaign } from '../../../src/domain/tracking/tracking.ts';
import { createTestContext } from '../../support/test-context.ts';

const root = await createTestContext();
await root.db.execute(sql`SELECT hot.ensure_partitions((current_date - 31)::date, current_date)`);
const ctx = await createTenant(root);
const customerId = ctx.viewer?.customerId ?? 0n;

const PEOPLE = 5;
const LINKS = 4;
const PLACES = [
  undefined,
  { country: 'Ireland', region: null, city: 'Cork' },
  { country: 'Norway', region: null, city: null },
];

type Act =
  | {
      kind: 'visit';
      who: number;
      link: number | null;
      machine: boolean;
      ahead: boolean;
      gapMs: number;
      place: number;
      cut: boolean;
    }
  | { kind: 'unsubscribe' | 'abuse' | 'hard' | 'soft'; who: number };

const who = fc.nat(PEOPLE - 1);
const visit = fc.record({
  kind: fc.constant('visit' as const),
  who,
  link: fc.option(fc.nat(LINKS - 1), { freq: 3 }),
  machine: fc.boolean(),
  ahead: fc.boolean(),
  gapMs: fc.constantFrom(0, 5, 400, 900, 1_500, 20_000),
  place: fc.nat(PLACES.length - 1),
  cut: fc.boolean(),
});
const report = fc.record({
  kind: fc.constantFrom('unsubscribe' as const, 'abuse' as const, 'hard' as const, 'soft' as const),
  who,
});
const acts = fc.array(fc.oneof({ weight: 8, arbitrary: visit }, { weight: 1, arbitrary: report }), {
  minLength: 1,
  maxLength: 60,
});

async function started(trackOpen: boolean): Promise<SeededCampaign> {
  const seeded = await seedCampaign(ctx.db, { subscribers: PEOPLE, customerId, trackOpen });
  const { campaignId, listId } = seeded;
  await ctx.db.execute(sql`UPDATE campaign SET snapshot_on = current_date WHERE id = ${campaignId}`);
  await ctx.db.execute(sql`
    INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, list_id, state, email, attempts, updated_at)
    SELECT current_date, customer_id, 1, ${campaignId}, id, list_id, 'sent', email, 1, now() - interval '3 hours'
      FROM subscriber WHERE customer_id = ${customerId} AND list_id = ${listId}`);
  await ctx.db.execute(
    sql`INSERT INTO hot.delivery_counter (customer_id, source_kind, source_id, audience, sent) VALUES (${customerId}, 1, ${campaignId}, ${PEOPLE}, ${PEOPLE})`,
  );
  await registerCampaignLinks(ctx, {
    ...seeded,
    links: Array.from({ length: LINKS }, (_, no) => ({ no, url: `https://example.org/${no}` })),
  });
  return seeded;
}

/** Plays the acts in their order; answers how many clicks only looked ahead. */
async function play(seeded: SeededCampaign, given: readonly Act[]): Promise<number> {
  const { campaignId, listId, subscriberIds } = seeded;
  let batch: TrackingEvent[] = [];
  let cameAt = performance.now() - 7_200_000;
  let ahead = 0;
  const flush = async () => {
    if (batch.length > 0) await recordTrackingEvents(ctx, batch);
    batch = [];
  };
  for (const act of given) {
    const recipient = recipientOfCampaign({
      customerId,
      campaignId,
      listId,
      subscriberId: subscriberIds[act.who] ?? 0n,
    });
    if (act.kind === 'visit') {
      cameAt += act.gapMs;
      const looksAhead = act.ahead && act.link !== null;
      ahead += Number(looksAhead);
      const visitor = {
        ip: null,
        userAgent: null,
        isMachine: act.machine || looksAhead,
        looksAhead,
        place: PLACES[act.place],
      };
      batch.push({
        recipient,
        visitor,
        linkNo: act.link,
        url: act.link === null ? null : `https://example.org/${act.link}`,
        cameAt,
      });
      if (act.cut) await flush();
      continue;
    }
    await flush();
    const visitor = { ip: null, userAgent: null, isMachine: false, looksAhead: false };
    const messageId = deliveryMessageId(ctx.installation, recipient, 'sender.example');
    if (act.kind === 'unsubscribe') await recordUnsubscribe(ctx, { recipient, visitor, source: 'link', reason: null });
    else if (act.kind === 'abuse') await recordDeliveryReport(ctx, { messageId, type: 'abuse' });
    else await recordDeliveryReport(ctx, { messageId, type: 'bounced', bounceType: act.kind });
  }
  await flush();
  return ahead;
}

/** The figures counted anew, row by row. */
async function recount({ campaignId }: SeededCampaign, { trackOpen, ahead }: { trackOpen: boolean; ahead: number }) {
  const [row] = await queryRows<Record<string, number>>(
    ctx.db,
    sql`
    WITH opens AS (SELECT * FROM hot.open_event WHERE customer_id = ${customerId} AND source_id = ${campaignId}),
         clicks AS (SELECT * FROM hot.click_event WHERE customer_id = ${customerId} AND source_id = ${campaignId}),
         people AS (
           SELECT recipient_id, sum(opens) AS opens, sum(clicks) AS clicks
             FROM (SELECT recipient_id, 1 AS opens, 0 AS clicks FROM opens WHERE NOT is_machine AND NOT by_click
                   UNION ALL SELECT recipient_id, 0, 1 FROM clicks WHERE NOT is_machine) e GROUP BY recipient_id)
    SELECT (SELECT count(*)::int FROM opens) AS "openCount", (SELECT count(DISTINCT recipient_id)::int FROM opens) AS "uniqOpenCount",
           (SELECT count(*)::int - ${ahead} FROM clicks) AS "clickCount",
           (SELECT count(*)::int FROM opens WHERE is_machine AND NOT by_click) AS "machineOpenCount",
           (SELECT coalesce(sum(opens), 0)::int FROM people) AS "humanOpenCount",
           (SELECT count(*)::int FROM opens WHERE by_click) AS "impliedOpenCount",
           (SELECT count(*)::int FROM people WHERE opens > 0 OR (${trackOpen} AND clicks > 0)) AS "humanUniqOpenCount",
           (SELECT coalesce(sum(clicks), 0)::int FROM people) AS "humanClickCount",
           (SELECT count(*)::int FROM people WHERE clicks > 0) AS "humanUniqClickCount",
           (SELECT count(DISTINCT recipient_id)::int FROM hot.bounce_event WHERE source_id = ${campaignId}) AS "bounceCount",
           (SELECT count(*)::int FROM hot.feedback_event WHERE source_id = ${campaignId}) AS "abuseFeedbackCount",
           (SELECT count(*)::int FROM hot.unsubscribe_event WHERE source_id = ${campaignId}) AS "unsubscribeCount"`,
  );
  return row ?? {};
}

test('the counters are what the rows say', async () => {
  await fc.assert(
    fc.asyncProperty(acts, fc.boolean(), async (given, trackOpen) => {
      const seeded = await started(trackOpen);
      const ahead = await play(seeded, given);
      const [figures] = await readCampaignStatistics(ctx, [seeded]);
      const counted = await recount(seeded, { trackOpen, ahead });
      expect(figures).toMatchObject(counted);
      const { bounceCount = 0, uniqOpenCount = 0, humanUniqOpenCount = 0, humanUniqClickCount = 0 } = counted;
      const delivered = PEOPLE - bounceCount;
      const clickers = new Set(
        given.flatMap((act) => (act.kind === 'visit' && act.link !== null && !act.ahead ? act.who : [])),
      ).size;
      expect(figures).toMatchObject({
        ...{
          subscriberCount: PEOPLE,
          sentCount: PEOPLE,
          deliveredCount: delivered,
          deliveredRate: rate(delivered, PEOPLE),
        },
        ...{ uniqOpenRate: rate(uniqOpenCount, delivered), humanUniqOpenRate: rate(humanUniqOpenCount, delivered) },
        ...{
          uniqClickCount: clickers,
          clickRate: rate(clickers, delivered),
          humanClickRate: rate(humanUniqClickCount, delivered),
        },
        ...{
          clickPerUniqOpen: rate(clickers, uniqOpenCount),
          machineClickCount: (counted['clickCount'] ?? 0) - (counted['humanClickCount'] ?? 0),
        },
      });
      expect(figures?.lastClick !== null).toBe((counted['clickCount'] ?? 0) > 0);
      await checkTopLists(seeded, given, counted);
      await checkList(seeded, { uniqOpenCount, clickers });
      expect(await wrongBits(ctx.db)).toEqual([]);
    }),
    { numRuns: 60 },
  );
});

async function checkTopLists(
  seeded: SeededCampaign,
  given: readonly Act[],
  counted: Record<string, number>,
): Promise<void> {
  const [[links = []], [places = []], [openers = []]] = await Promise.all([
    readCampaignLinks(ctx, [seeded]),
    readTopLocations(ctx, [seeded]),
    readTopOpeners(ctx, [seeded]),
  ]);
  const clicks = given.flatMap((act) => (act.kind === 'visit' && act.link !== null && !act.ahead ? [act] : []));
  expect(links.map(({ clickCount, uniqClickCount }) => [clickCount, uniqClickCount])).toEqual(
    Array.from({ length: LINKS }, (_, no) => {
      const here = clicks.filter(({ link }) => link === no);
      return [here.length, new Set(here.map(({ who: person }) => person)).size];
    }),
  );
  expect(places.reduce((sum, { openCount }) => sum + openCount, 0)).toBe(counted['openCount']);
  expect(places).toEqual(places.toSorted((a, b) => b.openCount - a.openCount));
  const perPerson = await queryRows<{ id: bigint; opens: number }>(
    ctx.db,
    sql`SELECT recipient_id AS id, count(*)::int AS opens FROM hot.open_event WHERE source_id = ${seeded.campaignId} GROUP BY 1 ORDER BY 2 DESC, 1`,
  );
  expect(openers.map(({ subscriberUid: uid, openCount }) => [uid, openCount])).toEqual(
    perPerson.map(({ id, opens }) => [subscriberUid(id), opens]),
  );
}

async function checkList(
  { listId }: SeededCampaign,
  { uniqOpenCount, clickers }: { uniqOpenCount: number; clickers: number },
): Promise<void> {
  const [row] = await queryRows<{ unsubscribed: number }>(
    ctx.db,
    sql`SELECT count(*)::int AS unsubscribed FROM subscriber WHERE customer_id = ${customerId} AND list_id = ${listId} AND status = 'unsubscribed'`,
  );
  const unsubscribed = row?.unsubscribed ?? 0;
  const [counters] = await listCounters(ctx.db, customerId, [listId]);
  expect(counters).toMatchObject({ openers: uniqOpenCount, clickers });
  expect(counters && listStatistics(counters)).toEqual({
    subscriberCount: PEOPLE,
    openUniqRate: rate(uniqOpenCount, PEOPLE),
    clickRate: rate(clickers, PEOPLE),
    subscribeRate: rate(PEOPLE - unsubscribed, PEOPLE),
    unsubscribeRate: rate(unsubscribed, PEOPLE),
    unsubscribeCount: unsubscribed,
    unconfirmedCount: 0,
  });
}
