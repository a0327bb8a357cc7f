/**
 * The safety net below the queue: the ledger, not the queue, is the truth. A campaign that is under way and has no
 * job any more (given up after too many tries, lost by hand) gets new ones; one that is finished is closed.
 */
import { sql } from '../../db/database.ts';
import { snapshotAudienceJob, sendBatchJob, sendAtTimeJob } from '../../jobs/campaign-jobs.ts';
import { renumberPriorities } from '../../jobs/fair-queueing.ts';
import { queuedJobs } from '../../jobs/queue-internals.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Context } from '../context.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { enqueueOpenWork } from './continue-campaign.ts';
import { findCampaignById } from './campaign-store.ts';
import { finishCampaign } from './finish-campaign.ts';

/**
 * Revives what stands still, and keeps the numbers of the queue's priorities small. Answers how many campaigns got new jobs.
 * Trouble with one is logged and stops no other.
 */
export async function reviveCampaigns(ctx: Context): Promise<number> {
  await renumberPriorities(ctx.database);
  const idle = await ctx.db.query<CampaignKey & Record<string, unknown>>(
    sql`SELECT c.customer_id AS "customerId", c.id AS "campaignId" FROM campaign c
         WHERE c.status IN ('queued', 'sending') AND c.wait_kind IS NULL
           AND NOT EXISTS (SELECT 1 FROM ${queuedJobs} j
                            WHERE j.name IN (${snapshotAudienceJob.name}, ${sendBatchJob.name}, ${sendAtTimeJob.name})
                              AND j.payload ->> 'campaignId' = c.id::text AND NOT j.is_given_up)`,
  );
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
