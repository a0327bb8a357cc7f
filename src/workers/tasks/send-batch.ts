/** Job `delivery.send-batch`: one range of a campaign's ledger is sent. */
import { sendBatchJob } from '../../jobs/campaign-jobs.ts';
import { finishCampaign } from '../../domain/campaigns/finish-campaign.ts';
import { pauseStoppedCampaign } from '../../domain/campaigns/pause-stopped-campaign.ts';
import { waitForWave } from '../../domain/campaigns/campaign-waves.ts';
import { waitForPlan } from '../../domain/campaigns/wait-for-plan.ts';
import { sendBatch, type SendingTools } from '../../domain/delivery/send-batch.ts';
import { defineTask, type Task } from '../task.ts';

/** The task, with the drivers and compiled messages that all jobs of this process share. */
export function sendBatchTask(tools: SendingTools): Task {
  return defineTask(sendBatchJob, async (ctx, batch, worker) => {
    const end = await sendBatch(ctx, batch, { ...tools, ...worker });
    if (typeof end === 'object' && 'pauseFor' in end) {
      if (await pauseStoppedCampaign(ctx, batch, end)) tools.announce(batch.customerId, batch.campaignId);
      return;
    }
    if (typeof end === 'object') await waitForPlan(ctx, batch, end);
    // At a limit too: another job may have sent the last of it meanwhile.
    if (end !== 'settled' && typeof end !== 'object') return;
    if ((await finishCampaign(ctx, batch)) || (await waitForWave(ctx, batch)))
      tools.announce(batch.customerId, batch.campaignId);
  });
}
