/** Enqueues batches of a campaign's ledger. */
import type { Queryable } from '../../db/database.ts';
import { sendBatchJob } from '../../jobs/campaign-jobs.ts';
import { enqueueMany } from '../../jobs/define-job.ts';
import type { IdRange } from '../delivery/campaigns/audience-snapshot-store.ts';
import { jobPayload } from '../delivery/campaigns/batch.ts';
import type { Campaign } from './campaign.ts';

/** One sending job per batch. */
export async function enqueueBatches(db: Queryable, campaign: Campaign, batches: readonly IdRange[]): Promise<void> {
  const key = { customerId: campaign.customerId, campaignId: campaign.id };
  await enqueueMany(
    db,
    sendBatchJob,
    batches.map((batch) => jobPayload({ ...key, ...batch })),
  );
}
