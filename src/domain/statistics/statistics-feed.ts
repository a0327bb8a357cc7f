/** The live figures of campaigns: read at most four times a second, however many watch and however often they change. */
import { isDeepStrictEqual } from 'node:util';
import type { Context } from '../context.ts';
import { openFeed, sharedFeed, type FeedSource, type LiveFeed } from '../../db/live-feed.ts';
import type { Notifications } from '../../db/listen.ts';
import { STATISTICS_CHANNEL, STATISTICS_INTERVAL_MS } from './announce-campaign-change.ts';
import type { CampaignKey } from './campaign-key.ts';
import { readCampaignStatistics, type CampaignStatistics } from './campaign-statistics-read-model.ts';

export type StatisticsFeed = LiveFeed<CampaignKey, CampaignStatistics>;

/** What a campaign waits for is announced by nobody: watchers see it this late at most. */
const REREAD_MS = 5_000;

/** The process's feed on these notifications, opened at the first call. */
export const statisticsFeedOf = sharedFeed(({ database: db }: Pick<Context, 'database' | 'log'>) => sourceOf({ db }));

/** Opens a feed of its own; it listens on the database's channel from now on. */
export function openStatisticsFeed(ctx: Pick<Context, 'db' | 'log'>, notifications: Notifications): StatisticsFeed {
  return openFeed(sourceOf(ctx), notifications, ctx.log);
}

function sourceOf(ctx: Pick<Context, 'db'>): FeedSource<CampaignKey, CampaignStatistics> {
  return {
    channels: [STATISTICS_CHANNEL],
    keyOf: ({ customerId, campaignId }) => `${customerId}:${campaignId}`,
    read: async (campaign) => (await readCampaignStatistics(ctx, [campaign]))[0],
    // Of a campaign that is done all is in the figures: what it waits for, and what is read beside them, changes no more.
    isSame: (before, after) => after.status === 'done' && isDeepStrictEqual(before, after),
    intervalMs: STATISTICS_INTERVAL_MS,
    rereadMs: REREAD_MS,
  };
}
