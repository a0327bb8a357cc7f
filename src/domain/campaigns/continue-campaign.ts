/**
 * Gives a campaign that was under way its jobs again: the rest of the snapshot, and a job for every open batch of the ledger.
 * Repeated jobs do no harm: the ledger decides who is sent to.
 */
import { enqueue } from '../../jobs/define-job.ts';
import { snapshotAudienceJob } from '../../jobs/campaign-jobs.ts';
import type { Context, TransactionContext } from '../context.ts';
import { ledgerOfCampaign } from '../delivery/ledger/delivery.ts';
import { openBatches } from '../delivery/campaigns/audience-snapshot-store.ts';
import { enqueueSendTimes } from './campaign-send-times.ts';
import { moveCampaign } from './campaign-state-store.ts';
import type { Campaign } from './campaign.ts';
import { enqueueBatches } from './enqueue-batches.ts';

/** Batches per statement; further ones come in the next. */
const BATCHES_PER_STATEMENT = 1_000;

/** Continues a paused campaign that has begun, and enqueues its open work. */
export async function continueCampaign(tx: TransactionContext, campaign: Campaign): Promise<void> {
  // `sending` even when the snapshot is not complete: as `queued` its batches would be dropped.
  await moveCampaign(tx.db, campaign, { from: ['paused'], to: 'sending' });
  await enqueueOpenWork(tx, campaign);
}

/** Enqueues the rest of the snapshot and every open batch, or the first `batchesMax` of them. */
export async function enqueueOpenWork(ctx: Context, campaign: Campaign, batchesMax = Infinity): Promise<void> {
  const { customerId, id: campaignId, snapshotOn } = campaign;
  // Also when the snapshot is complete: this job finishes a campaign with nothing left to send.
  const payload = { customerId: String(customerId), campaignId: String(campaignId) };
  await enqueue(ctx.db, snapshotAudienceJob, payload, { key: `campaigns.plan:${campaignId}` });
  if (snapshotOn === null) return;
  await enqueueSendTimes(ctx.db, { customerId, campaignId });
  let afterId = 0n;
  for (let left = batchesMax; left > 0; left -= BATCHES_PER_STATEMENT) {
    const batchesInStatement = Math.min(BATCHES_PER_STATEMENT, left);
    const options = { afterId, batchSize: ctx.installation.limits.sendBatchSize, batchesMax: batchesInStatement };
    const batches = await openBatches(ctx.db, ledgerOfCampaign({ snapshotOn, customerId, campaignId }), options);
    await enqueueBatches(ctx.db, campaign, batches);
    const last = batches.at(-1);
    if (!last || batches.length < BATCHES_PER_STATEMENT) return;
    afterId = last.toId;
  }
}
