/** Sends one batch of a campaign, and updates the campaign by the result. */
import type { Context } from '../context.ts';
import type { Batch, BatchWorker } from '../delivery/campaigns/batch.ts';
import { sendBatch } from '../delivery/campaigns/send-batch.ts';
import { sourceOfCampaign } from '../statistics/source-read-model.ts';
import { waitForSendTime } from './campaign-send-times.ts';
import { finishCampaign } from './finish-campaign.ts';
import { pauseStoppedCampaign } from './pause-stopped-campaign.ts';
import { waitForPlan } from './wait-for-plan.ts';

/** Pauses the campaign, lets it wait, or finishes it, by the batch's result. */
export async function sendCampaignBatch(ctx: Context, batch: Batch, worker: BatchWorker): Promise<void> {
  const announce = (): void => worker.announce(sourceOfCampaign(batch));
  const end = await sendBatch(ctx, batch, worker);
  if (typeof end === 'object' && 'pauseFor' in end) {
    if (await pauseStoppedCampaign(ctx, batch, end)) announce();
    return;
  }
  if (typeof end === 'object') await waitForPlan(ctx, batch, end);
  // At a limit too: another job may have sent the last messages meanwhile.
  if (end !== 'settled' && typeof end !== 'object') return;
  if (await finishCampaign(ctx, batch)) worker.campaigns.close(batch);
  else if (!(await waitForSendTime(ctx, batch))) return;
  announce();
}
