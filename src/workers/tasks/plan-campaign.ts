/** Job `campaigns.plan`: writes the audience to the ledger. */
import { snapshotAudienceJob, sendAtTimeJob, startScheduledCampaignJob } from '../../jobs/campaign-jobs.ts';
import { sendAtTime } from '../../domain/campaigns/campaign-send-times.ts';
import { planWholeCampaign } from '../../domain/campaigns/plan-whole-campaign.ts';
import { startScheduledCampaign } from '../../domain/campaigns/start-campaign.ts';
import { defineTask } from '../task.ts';

export const snapshotTask = defineTask(snapshotAudienceJob, (ctx, key, { abortSignal }) =>
  planWholeCampaign(ctx, key, abortSignal),
);

export const startScheduledCampaignTask = defineTask(startScheduledCampaignJob, startScheduledCampaign);

export const sendAtTimeTask = defineTask(sendAtTimeJob, sendAtTime);
