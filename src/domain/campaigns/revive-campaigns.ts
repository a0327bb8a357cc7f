/**
 * The safety net below the queue: the ledger, not the queue, is the truth. A campaign that is under way and has no
 * job any more (given up after too many tries, lost by hand) gets new ones; one that is finished is closed.
 */
import { sql } from '../../db/database.ts';
import type { Context } from '../context.ts';
import { enqueueOpenWork } from './continue-campaign.ts';
import { findCampaignById } from './campaign-store.ts';
import { finishCampaign } from './finish-campaign.ts';

/** Revives what stands still; answers how many campaigns got new jobs. */
export async function reviveCampaigns(ctx: Context): Promise<number> {
  const idle = await ctx.db.query<{ customerId: bigint; campaignId: bigint }>(
    sql`SELECT c.customer_id AS "customerId", c.id AS "campaignId" FROM campaign c
         WHERE c.status IN ('queued', 'sending')
           AND NOT EXISTS (SELECT 1 FROM graphile_worker._private_jobs j
                            WHERE j.payload ->> 'campaignId' = c.id::text AND j.attempts < j.max_attempts)`,
  );
  let revived = 0;
  for (const key of idle) {
    if (await finishCampaign(ctx, key)) continue;
    const campaign = await findCampaignById(ctx.db, key.customerId, key.campaignId);
    if (!campaign) continue;
    ctx.log.warn('campaign.revived', { campaign: campaign.uid });
    await enqueueOpenWork(ctx, campaign);
    revived += 1;
  }
  return revived;
}
