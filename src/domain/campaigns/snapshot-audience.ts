/**
 * Writes the audience to the ledger, slice by slice; each slice, its batches' jobs and the cursor are one transaction, so a crash
 * repeats and skips nothing. Sending begins with the first slice.
 */
import { UnavailableConditionError } from '../audience/segments/segment-errors.ts';
import { inTransaction, type Context } from '../context.ts';
import { ledgerOfCampaign } from '../delivery/ledger/delivery.ts';
import {
  ensurePartitionOf,
  snapshotSegmentSlice,
  snapshotSlice,
} from '../delivery/campaigns/audience-snapshot-store.ts';
import { refreshStatistics } from '../delivery/ledger/planner-statistics-store.ts';
import { assert } from '../../lib/errors.ts';
import { peopleTimesOf } from '../delivery/campaigns/people-times-read-model.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { answerSegment, pauseWithoutAnswer } from './answer-segment.ts';
import { endWithoutAudience } from './campaign-audience.ts';
import { enqueueSendTimes } from './campaign-send-times.ts';
import { enqueueBatches } from './enqueue-batches.ts';
import { moveCampaign } from './campaign-state-store.ts';
import { findCampaignById, moveSnapshotCursor } from './campaign-store.ts';

/** The first slice is small: the first message should be sent at once, however large the audience is. */
const FIRST_SLICE_ROWS = 1_000;

/** Continues until the audience is complete, or the campaign is no longer under way, or the process stops. */
export async function snapshotAudience(
  ctx: Context,
  key: CampaignKey,
  abortSignal: AbortSignal,
): Promise<'planned' | 'stopped'> {
  if (abortSignal.aborted || !(await answerSegment(ctx, key, abortSignal))) return 'stopped';
  try {
    for (;;) {
      const step = await snapshotNextSlice(ctx, key);
      if (step !== 'more') return step;
      if (abortSignal.aborted) return 'stopped';
    }
  } catch (error) {
    if (!(error instanceof UnavailableConditionError)) throw error;
    await pauseWithoutAnswer(ctx, key, error.about);
    return 'stopped';
  }
}

async function snapshotNextSlice(
  ctx: Context,
  { customerId, campaignId }: CampaignKey,
): Promise<'more' | 'planned' | 'stopped'> {
  return inTransaction(ctx, async (tx) => {
    const campaign = await findCampaignById(tx.db, customerId, campaignId, { lock: true });
    if (!campaign || (campaign.status !== 'queued' && campaign.status !== 'sending')) return 'stopped';
    if (campaign.snapshotAt !== null) return 'planned';
    assert(campaign.snapshotOn !== null, 'a queued campaign has its day in the ledger');
    const { snapshotOn, listId, snapshotCursor, segmentSnapshot } = campaign;
    await ensurePartitionOf(tx.db, snapshotOn);
    const rows = snapshotCursor === 0n ? FIRST_SLICE_ROWS : tx.installation.limits.snapshotBatchSize;
    const { sendBatchSize: batchSize } = tx.installation.limits;
    const times = await peopleTimesOf(tx.db, { customerId, campaignId });
    const key = ledgerOfCampaign({ snapshotOn, customerId, campaignId });
    const input = { key, listId, afterId: snapshotCursor, rows, batchSize, times };
    const slice = segmentSnapshot
      ? await snapshotSegmentSlice(tx.db, input, segmentSnapshot)
      : await snapshotSlice(tx.db, input);
    await refreshStatistics(tx.db, snapshotOn);
    await moveSnapshotCursor(tx.db, campaign, slice);
    if (slice.isComplete && (await endWithoutAudience(tx, campaign))) return 'stopped';
    await enqueueBatches(tx.db, campaign, slice.batches);
    if (times) await enqueueSendTimes(tx.db, { customerId, campaignId });
    await moveCampaign(tx.db, campaign, { from: ['queued'], to: 'sending' });
    return slice.isComplete ? 'planned' : 'more';
  });
}
