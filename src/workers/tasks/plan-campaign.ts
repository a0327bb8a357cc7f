/** Job `campaigns.plan`: the audience goes into the ledger. */
import { planCampaignJob, sendWaveJob, startScheduledCampaignJob } from '../../jobs/campaign-jobs.ts';
import { sendWave } from '../../domain/campaigns/campaign-waves.ts';
import { planWholeCampaign } from '../../domain/campaigns/plan-whole-campaign.ts';
import { startScheduledCampaign } from '../../domain/campaigns/start-campaign.ts';
import { defineTask } from '../task.ts';

export const planCampaignTask = defineTask(planCampaignJob, (ctx, key, { abortSignal }) =>
  planWholeCampaign(ctx, key, abortSignal),
);

export const startScheduledCampaignTask = defineTask(startScheduledCampaignJob, startScheduledCampaign);

export const sendWaveTask = defineTask(sendWaveJob, sendWave);
