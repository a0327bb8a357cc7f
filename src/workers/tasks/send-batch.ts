/** Job `delivery.send-batch`: sends one range of a campaign's ledger. */
import { sendBatchJob } from '../../jobs/campaign-jobs.ts';
import { sendCampaignBatch } from '../../domain/campaigns/send-campaign-batch.ts';
import type { SendingTools } from '../../domain/delivery/campaigns/batch.ts';
import { defineTask, type Task } from '../task.ts';

/** The task, with the drivers and campaigns that all jobs of this process share. */
export function sendBatchTask(tools: SendingTools): Task {
  return defineTask(sendBatchJob, (ctx, batch, worker) => sendCampaignBatch(ctx, batch, { ...tools, ...worker }));
}
