import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { openNotifications } from '../../../src/db/listen.ts';
import {
  announceCampaignChange,
  flushAnnouncements,
  STATISTICS_CHANNEL,
} from '../../../src/domain/statistics/announce-campaign-change.ts';
import { openStatisticsFeed } from '../../../src/domain/statistics/statistics-feed.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { seedCampaign } from '../../support/audience-rows.ts';
import { createTestContext } from '../../support/test-context.ts';

const ctx = await createTestContext();
const notifications = openNotifications(ctx.database, silentLog);
const feed = openStatisticsFeed(ctx, notifications);
afterAll(async () => {
  feed.close();
  await notifications.close();
});
// LISTEN is on its way; what is told before it arrives is nobody's to hear.
let isHeard = false;
const stopAsking = notifications.listen(STATISTICS_CHANNEL, () => (isHeard = true));
while (!isHeard) await queryRows(ctx.db, sql`SELECT pg_notify(${STATISTICS_CHANNEL}, '0:0')`).then(() => sleep(10));
stopAsking();

async function setSent(campaign: { customerId: bigint; campaignId: bigint }, sent: number): Promise<void> {
  await ctx.db.execute(sql`
    INSERT INTO hot.delivery_counter (customer_id, source_kind, source_id, audience, sent) VALUES (${campaign.customerId}, 1, ${campaign.campaignId}, ${sent}, ${sent})
    ON CONFLICT (customer_id, source_kind, source_id) DO UPDATE SET audience = excluded.audience, sent = excluded.sent`);
}

describe('announcing', () => {
  test('a thousand changes become a few notifications, the last one included', async () => {
    const { customerId, campaignId } = await seedCampaign(ctx.db, { subscribers: 1 });
    const heard: number[] = [];
    const stop = notifications.listen(STATISTICS_CHANNEL, (payload) => {
      if (payload === `${customerId}:${campaignId}`) heard.push(performance.now());
    });
    const startedAt = performance.now();
    while (performance.now() - startedAt < 1_000) {
      announceCampaignChange(ctx, { customerId, campaignId });
      await sleep(1);
    }
    const lastChange = performance.now();
    announceCampaignChange(ctx, { customerId, campaignId });
    await expect.poll(() => heard.at(-1)).toBeGreaterThan(lastChange);
    stop();
    // One at once, then one in each quarter of a second.
    expect(heard.length).toBeLessThanOrEqual(1 + Math.ceil((performance.now() - startedAt) / 250));
  });

  test('what is held back goes out on shutdown', async () => {
    const { customerId, campaignId } = await seedCampaign(ctx.db, { subscribers: 1 });
    let heard = 0;
    const stop = notifications.listen(STATISTICS_CHANNEL, (payload) => {
      if (payload === `${customerId}:${campaignId}`) heard += 1;
    });
    announceCampaignChange(ctx, { customerId, campaignId });
    announceCampaignChange(ctx, { customerId, campaignId });
    await flushAnnouncements(ctx);
    await expect.poll(() => heard).toBe(2);
    stop();
  });
});

describe('watching', () => {
  test('gives the figures now, then the newest when they changed', async () => {
    const campaign = await seedCampaign(ctx.db, { subscribers: 1 });
    const watch = feed.watch(campaign);
    expect((await watch.next()).value).toMatchObject({ sentCount: 0 });
    await setSent(campaign, 7);
    announceCampaignChange(ctx, campaign);
    expect((await watch.next()).value).toMatchObject({ sentCount: 7 });
    await watch.return?.();
    expect(await watch.next()).toEqual({ done: true, value: undefined });
  });

  test('at most four values a second, and never without the last one', async () => {
    const campaign = await seedCampaign(ctx.db, { subscribers: 1 });
    const watch = feed.watch(campaign);
    const values: number[] = [];
    const startedAt = performance.now();
    const reading = (async () => {
      for await (const { sentCount } of watch) values.push(sentCount);
    })();
    for (let sent = 1; sent <= 100; sent++) {
      await setSent(campaign, sent);
      announceCampaignChange(ctx, campaign);
      await sleep(10);
    }
    await expect.poll(() => values.at(-1)).toBe(100);
    await watch.return?.();
    await reading;
    // One at once, then one in each quarter of a second.
    expect(values.length).toBeLessThanOrEqual(1 + Math.ceil((performance.now() - startedAt) / 250));
  });

  test('a reader that stops reading holds nothing back and keeps nothing', async () => {
    const campaign = await seedCampaign(ctx.db, { subscribers: 1 });
    const [paused, lively] = [feed.watch(campaign), feed.watch(campaign)];
    await paused.next();
    await lively.next();
    for (const sent of [1, 2, 3]) {
      await setSent(campaign, sent);
      announceCampaignChange(ctx, campaign);
      expect((await lively.next()).value).toMatchObject({ sentCount: sent });
    }
    // Three values went by; the sleeper gets the newest, once.
    expect((await paused.next()).value).toMatchObject({ sentCount: 3 });
    // The reading before the last news may have seen it already: then the same comes once more, and then nothing.
    let nothingMore = paused.next();
    const again = await Promise.race([nothingMore, sleep(1_500, undefined)]);
    if (again !== undefined) {
      expect(again.value).toMatchObject({ sentCount: 3 });
      nothingMore = paused.next();
      expect(await Promise.race([nothingMore, sleep(1_500, 'nothing')])).toBe('nothing');
    }
    await paused.return?.();
    expect(await nothingMore).toMatchObject({ done: true });
    await lively.return?.();
  });

  test('of a campaign that is done the same figures come once', async () => {
    const campaign = await seedCampaign(ctx.db, { subscribers: 1 });
    await ctx.db.execute(sql`UPDATE campaign SET status = 'done' WHERE id = ${campaign.campaignId}`);
    const watch = feed.watch(campaign);
    await watch.next();
    const next = watch.next();
    announceCampaignChange(ctx, campaign);
    await sleep(1_000);
    await setSent(campaign, 6);
    announceCampaignChange(ctx, campaign);
    expect((await next).value).toMatchObject({ sentCount: 6 });
    await watch.return?.();
  });

  test('after a lost connection everybody reads again', async () => {
    const campaign = await seedCampaign(ctx.db, { subscribers: 1 });
    const watch = feed.watch(campaign);
    await watch.next();
    await setSent(campaign, 5);
    await queryRows(
      ctx.db,
      sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'mailwright-listen' AND datname = current_database()`,
    );
    expect((await watch.next()).value).toMatchObject({ sentCount: 5 });
    await watch.return?.();
  });

  test('closing ends every watch', async () => {
    const campaign = await seedCampaign(ctx.db, { subscribers: 1 });
    const own = openStatisticsFeed(ctx, notifications);
    const watch = own.watch(campaign);
    await watch.next();
    const waiting = watch.next();
    own.close();
    expect(await waiting).toMatchObject({ done: true });
  });
});
