import { expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { listCounters, listStatistics } from '../../../src/domain/audience/list-counter-store.ts';
import { deleteCampaign } from '../../../src/domain/campaigns/delete-campaign.ts';
import { readCampaignStatistics } from '../../../src/domain/statistics/campaign-statistics-read-model.ts';
import {
  readCampaignLinks,
  readTopLocations,
  readTopOpeners,
} from '../../../src/domain/statistics/campaign-toplists-read-model.ts';
import { registerCampaignLinks } from '../../../src/domain/statistics/link-counter-store.ts';
import { rate } from '../../../src/domain/statistics/rate.ts';
import type { TrackingEvent } from '../../../src/domain/tracking/tracking-event.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import { seedCampaign } from '../../support/audience-rows.ts';
import { recordTrackingEvents } from '../../support/record-tracking-events.ts';
import { recipientOfCampaign } from '../../../src/domain/tracking/tracking.ts';
import { createTestContext } from '../../support/test-context.ts';

const ctx = await createTestContext();
await ctx.db.execute(sql`SELECT hot.ensure_partitions(current_date, current_date)`);
const seeded = await seedCampaign(ctx.db, { subscribers: 20 });
const other = await seedCampaign(ctx.db, { subscribers: 1 });
const { customerId, listId, campaignId } = seeded;

function act(who: number, link?: number): TrackingEvent {
  const recipient = recipientOfCampaign({
    customerId,
    listId,
    campaignId,
    subscriberId: seeded.subscriberIds[who] ?? 0n,
  });
  const visitor = { ip: null, userAgent: null, isMachine: false, looksAhead: false };
  return { recipient, visitor, linkNo: link ?? null, url: link === undefined ? null : 'https://example.org/filled' };
}

test('a campaign that has not begun has zeros, no rates and no times', async () => {
  const [empty] = await readCampaignStatistics(ctx, [other]);
  expect(empty).toMatchObject({
    subscriberCount: 0,
    deliveredRate: 0,
    uniqOpenRate: 0,
    clickPerUniqOpen: 0,
    lastOpen: null,
    lastClick: null,
  });
  expect(
    await Promise.all([readTopLocations, readTopOpeners, readCampaignLinks].map((read) => read(ctx, [other]))),
  ).toEqual([[[]], [[]], [[]]]);
});

test('the figures follow from the counters, in the order asked for', async () => {
  await ctx.db
    .execute(sql`INSERT INTO hot.delivery_counter (customer_id, source_kind, source_id, audience, sent, failed, open)
                           VALUES (${customerId}, 1, ${campaignId}, 20, 15, 3, 2)`);
  await recordTrackingEvents(ctx, [
    ...[0, 0, 0, 1, 1, 2, 3, 4, 5].map((who) => act(who)),
    act(0, 1),
    act(0, 1),
    act(1, 2),
  ]);
  const [first, second] = await readCampaignStatistics(ctx, [other, seeded]);
  expect([first?.campaignId, first?.status]).toEqual([other.campaignId, 'new']);
  expect(second).toMatchObject({
    subscriberCount: 20,
    deliveredCount: 15,
    deliveredRate: 0.75,
    openCount: 9,
    uniqOpenCount: 6,
    uniqOpenRate: 0.4,
    clickCount: 3,
    uniqClickCount: 2,
    clickRate: 0.1333,
    clickPerUniqOpen: 0.3333,
    sentCount: 15,
    failedCount: 3,
    pendingCount: 2,
  });
  expect(second?.lastOpen).toBeInstanceOf(Date);
});

test('the most frequent openers come first', async () => {
  const [none, openers = []] = await readTopOpeners(ctx, [other, seeded]);
  expect(none).toEqual([]);
  expect(openers.map(({ openCount }) => openCount)).toEqual([3, 2, 1, 1, 1, 1]);
  expect(openers[0]).toEqual({
    subscriberUid: subscriberUid(seeded.subscriberIds[0] ?? 0n),
    email: 'p1@example.org',
    openCount: 3,
  });
  expect(await readTopLocations(ctx, [other, seeded])).toEqual([
    [],
    [{ country: null, region: null, city: null, openCount: 9 }],
  ]);
});

test('links show the address as written, also those that nobody clicked', async () => {
  const links = [0, 1, 2].map((no) => ({ no, url: `https://example.org/{EMAIL}/${no}` }));
  const fresh = { customerId: other.customerId, campaignId: other.campaignId };
  await registerCampaignLinks(ctx, { ...fresh, links });
  await registerCampaignLinks(ctx, { ...fresh, links });
  const [written, clicked] = await readCampaignLinks(ctx, [fresh, seeded]);
  expect(written).toEqual(links.map(({ url }) => ({ url, clickCount: 0, uniqClickCount: 0, lastClick: null })));
  const [subscriberId = 0n] = other.subscriberIds;
  const recipient = recipientOfCampaign({ ...fresh, listId: other.listId, subscriberId });
  await recordTrackingEvents(ctx, [{ ...act(0, 1), recipient }]);
  const [after] = await readCampaignLinks(ctx, [fresh]);
  expect(after?.map(({ url, clickCount }) => [url, clickCount])).toEqual(
    links.map(({ url, no }) => [url, Number(no === 1)]),
  );
  expect(clicked?.map(({ clickCount }) => clickCount)).toEqual([2, 1]);
});

test('a rate is a fraction of four places, never of nothing and never above one', () => {
  expect([rate(1, 3), rate(2, 3), rate(0, 0), rate(5, 0), rate(3, 2)]).toEqual([0.3333, 0.6667, 0, 0, 1]);
});

test('a list has the rates of all its campaigns, deleted ones included', async () => {
  const rates = async () => {
    const [counters] = await listCounters(ctx.db, customerId, [listId]);
    return counters && listStatistics(counters);
  };
  const expected = { openUniqRate: 0.4, clickRate: 0.1333 };
  expect(await rates()).toMatchObject(expected);
  const viewer = {
    ...{ userId: 1n, userUid: 'u', customerId, isAdmin: false, scopes: ['*'] },
    ...{ tokenId: 0n, tokenUid: 't', tokenKind: 'primary' as const },
  };
  await deleteCampaign({ ...ctx, viewer }, seeded.campaignUid);
  expect(await rates()).toMatchObject(expected);
});
