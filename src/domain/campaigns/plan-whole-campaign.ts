/**
 * Takes the whole audience snapshot, and does what follows: the campaign is finished, waits for a send time, or another process
 * continues.
 */
import { snapshotAudienceJob } from '../../jobs/campaign-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import type { Context } from '../context.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { waitForSendTime } from './campaign-send-times.ts';
import { finishCampaign } from './finish-campaign.ts';
import { snapshotAudience } from './snapshot-audience.ts';

/** A process that is asked to stop leaves the rest of the audience to a job. */
export async function planWholeCampaign(ctx: Context, key: CampaignKey, abortSignal: AbortSignal): Promise<void> {
  const end = await snapshotAudience(ctx, key, abortSignal);
  // An audience that is suppressed, or was sent during the last slice, is finished now.
  if (end === 'planned' && !(await finishCampaign(ctx, key))) await waitForSendTime(ctx, key);
  if (end !== 'stopped' || !abortSignal.aborted) return;
  const payload = { customerId: String(key.customerId), campaignId: String(key.campaignId) };
  // The first slice has priority; the rest of a large audience is queued normally.
  await enqueue(ctx.db, snapshotAudienceJob, payload, {
    key: `campaigns.plan:${key.campaignId}`,
    isFairlyQueued: true,
  });
}
