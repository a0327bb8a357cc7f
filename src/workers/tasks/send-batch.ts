/** Job `delivery.send-batch`: one range of a campaign's ledger is sent. */
import { sendBatchJob } from '../../jobs/campaign-jobs.ts';
import { finishCampaign } from '../../domain/campaigns/finish-campaign.ts';
import { sendBatch, type SendingTools } from '../../domain/delivery/send-batch.ts';
import { defineTask, type Task } from '../task.ts';

/** The task, with the drivers and compiled messages that all jobs of this process share. */
export function sendBatchTask(tools: SendingTools): Task {
  return defineTask(sendBatchJob, async (ctx, batch, worker) => {
    const end = await sendBatch(ctx, batch, { ...tools, ...worker });
    if (end === 'settled' && (await finishCampaign(ctx, batch))) tools.announce(batch.customerId, batch.campaignId);
  });
}
