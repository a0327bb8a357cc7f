/**
 * The safety net below the queue: the ledger, not the queue, is the truth. A campaign that is under way and has no
 * job any more (given up after too many tries, lost by hand) gets new ones; one that is finished is closed.
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
 * Revives what stands still, and keeps the numbers of the queue's priorities small. Answers how many campaigns got new jobs.
 * Trouble with one is logged and stops no other.
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
  // Without a job nobody would look again, so the ledger itself is asked, not the counters.
  if (await finishCampaign(ctx, key, { mayTrustCounters: false })) return false;
  const campaign = await findCampaignById(ctx.db, key.customerId, key.campaignId);
  if (!campaign) return false;
  ctx.log.warn('campaign.revived', { campaign: campaign.uid });
  await enqueueOpenWork(ctx, campaign);
  return true;
}
