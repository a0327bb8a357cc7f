/** Follows the dry runs of a campaign across all processes. */
import { isDeepStrictEqual } from 'node:util';
import { sharedFeed, type FeedSource } from '../../db/live-feed.ts';
import type { Notifications } from '../../db/listen.ts';
import type { Queryable } from '../../db/database.ts';
import type { Context } from '../context.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { CAMPAIGN_CHANNEL } from './campaign-changes.ts';
import { campaignHeads } from './campaign-change-read-model.ts';
import { DRY_RUN_CHANNEL, latestDryRun, type DryRun } from './dry-run-store.ts';
import { findOwnedCampaign } from './find-owned-campaign.ts';

/** As fast as a person can read. */
const INTERVAL_MS = 250;
/** A notification can be lost while a connection is made: watchers see a change this late at most. */
const REREAD_MS = 5_000;

/** The latest run; null: there was none yet. */
export interface LatestDryRun {
  readonly run: DryRun | null;
}

const feedOf = sharedFeed(({ database }: Pick<Context, 'database' | 'log'>) => sourceOf(database));

/**
 * The latest dry run of the viewer's campaign now, then each change of it and of later ones, until the campaign is deleted. Throws
 * NotFoundError, ForeignResourceError.
 */
export async function watchDryRun(
  ctx: Context,
  notifications: Notifications,
  uid: string,
): Promise<AsyncIterableIterator<LatestDryRun>> {
  const { customerId, id: campaignId } = await findOwnedCampaign(ctx, uid);
  return feedOf(ctx, notifications).watch({ customerId, campaignId });
}

function sourceOf(db: Queryable): FeedSource<CampaignKey, LatestDryRun> {
  return {
    channels: [DRY_RUN_CHANNEL, CAMPAIGN_CHANNEL],
    keyOf: ({ customerId, campaignId }) => `${customerId}:${campaignId}`,
    keyIn: (payload) => payload.split(':', 2).join(':'),
    read: async (campaign) => {
      const run = await latestDryRun(db, campaign);
      if (run) return { run };
      const [head] = await campaignHeads(db, campaign.customerId, [campaign.campaignId]);
      return head && { run: null };
    },
    isSame: isDeepStrictEqual,
    intervalMs: INTERVAL_MS,
    rereadMs: REREAD_MS,
  };
}
