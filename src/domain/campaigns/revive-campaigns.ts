/**
 * The safety net below the queue: the ledger decides, not the queue. A campaign that is under way and has no job any more (given
 * up after too many tries, or deleted by hand) gets new ones; one with nothing open is finished.
 */
import { renumberPriorities } from '../../jobs/fair-queueing.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Context } from '../context.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { enqueueOpenWork } from './continue-campaign.ts';
import { campaignsWithoutJobs } from './campaign-read-model.ts';
import { findCampaignById } from './campaign-store.ts';
import { finishCampaign } from './finish-campaign.ts';

/**
 * Gives jobs to campaigns without any, and keeps the numbers of the queue's priorities small. Returns how many campaigns got new
 * jobs. A failure of one is logged and stops no other.
 */
export async function reviveCampaigns(ctx: Context): Promise<number> {
  await renumberPriorities(ctx.database);
  const idle = await campaignsWithoutJobs(ctx.db);
  let revived = 0;
  for (const key of idle) {
    try {
      if (await revive(ctx, key)) revived += 1;
    } catch (error) {
      ctx.log.error('campaign.revive_failed', { campaignId: key.campaignId, message: messageOf(error) });
    }
  }
  return revived;
}

async function revive(ctx: Context, key: CampaignKey): Promise<boolean> {
  // Without a job nobody would check again, so the ledger itself is counted, not the counters.
  if (await finishCampaign(ctx, key, { mayTrustCounters: false })) return false;
  const campaign = await findCampaignById(ctx.db, key.customerId, key.campaignId);
  if (!campaign) return false;
  ctx.log.warn('campaign.revived', { campaign: campaign.uid });
  await enqueueOpenWork(ctx, campaign);
  return true;
}
