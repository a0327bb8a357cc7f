/** Job `campaigns.plan`: the audience goes into the ledger. */
import { planCampaignJob, sendWaveJob, startScheduledCampaignJob } from '../../jobs/campaign-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { finishCampaign } from '../../domain/campaigns/finish-campaign.ts';
import { sendWave, waitForWave } from '../../domain/campaigns/campaign-waves.ts';
import { planCampaign } from '../../domain/campaigns/plan-campaign.ts';
import { startScheduledCampaign } from '../../domain/campaigns/start-campaign.ts';
import { defineTask } from '../task.ts';

export const planCampaignTask = defineTask(planCampaignJob, async (ctx, key, { abortSignal }) => {
  const end = await planCampaign(ctx, key, abortSignal);
  // An empty audience, or one that was sent while the last slice was planned, is finished now.
  if (end === 'planned' && !(await finishCampaign(ctx, key))) await waitForWave(ctx, key);
  if (end === 'stopped' && abortSignal.aborted) {
    const payload = { customerId: String(key.customerId), campaignId: String(key.campaignId) };
    // The first slice goes before everything; the rest of a large audience stands in line.
    await enqueue(ctx.db, planCampaignJob, payload, { key: `campaigns.plan:${key.campaignId}`, inTurn: true });
  }
});

export const startScheduledCampaignTask = defineTask(startScheduledCampaignJob, startScheduledCampaign);

export const sendWaveTask = defineTask(sendWaveJob, sendWave);
