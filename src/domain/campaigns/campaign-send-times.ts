/**
 * The later send times of a campaign (delivery/campaigns/send-time-store.ts): one job each, which makes batches of the recipients due then.
 * While all open recipients wait for one, the campaign shows it, and has no other job.
 */
import type { Queryable } from '../../db/database.ts';
import { sendAtTimeJob } from '../../jobs/campaign-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { inTransaction, type Context } from '../context.ts';
import { ledgerOfCampaign } from '../delivery/ledger/delivery.ts';
import { sendTimeBatches } from '../delivery/campaigns/audience-snapshot-store.ts';
import { peopleTimesOf } from '../delivery/campaigns/people-times-read-model.ts';
import { nextSendTimeIfIdle, passSendTimes } from '../delivery/campaigns/send-time-store.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { enqueueBatches } from './enqueue-batches.ts';
import { beginWait, endWait, isIdleUntil } from './campaign-state-store.ts';
import { findCampaignById } from './campaign-store.ts';

/** Batches per statement; further ones come in the next. */
const BATCHES_PER_STATEMENT = 1_000;

/** Enqueues a job for each future send time; an existing one stays. */
export async function enqueueSendTimes(db: Queryable, key: CampaignKey): Promise<void> {
  const payload = { customerId: String(key.customerId), campaignId: String(key.campaignId) };
  for (const at of await passSendTimes(db, key))
    await enqueue(db, sendAtTimeJob, payload, {
      runAt: at,
      key: `campaigns.sendTime:${key.campaignId}:${at.getTime()}`,
    });
}

/** Enqueues jobs for due recipients; a campaign that is not being sent keeps them until it is. */
export async function sendAtTime(ctx: Context, key: CampaignKey): Promise<void> {
  await inTransaction(ctx, async (tx) => {
    const campaign = await findCampaignById(tx.db, key.customerId, key.campaignId, { lock: true });
    if (campaign?.status !== 'sending' || campaign.snapshotOn === null) return;
    await endWait(tx.db, key, { isDueOnly: true });
    await enqueueSendTimes(tx.db, key);
    const { sendBatchSize: batchSize } = tx.installation.limits;
    for (let afterId = 0n; ;) {
      const options = { afterId, batchSize, batchesMax: BATCHES_PER_STATEMENT };
      const batches = await sendTimeBatches(
        tx.db,
        ledgerOfCampaign({ ...key, snapshotOn: campaign.snapshotOn }),
        options,
      );
      await enqueueBatches(tx.db, campaign, batches);
      const last = batches.at(-1);
      if (!last || batches.length < BATCHES_PER_STATEMENT) return;
      afterId = last.toId;
    }
  });
}

/** If all open recipients wait for a later time, shows it in the campaign and returns true. */
export async function waitForSendTime(ctx: Context, key: CampaignKey): Promise<boolean> {
  const at = await nextSendTimeIfIdle(ctx.db, key);
  if (at === null) return false;
  const times = await peopleTimesOf(ctx.db, key);
  const code = times === null || times.localTime === null ? 'quiet_hours_of_recipients' : 'time_of_recipients';
  return beginWait(ctx.db, key, { reason: { code, params: {} }, until: at }, isIdleUntil(at));
}
