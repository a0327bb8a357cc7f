/** When a scheduled campaign starts. The database's clock decides, which also starts the queue's job. */
import type { Queryable } from '../../db/database.ts';
import { databaseNow } from '../../db/now.ts';
import { startScheduledCampaignJob } from '../../jobs/campaign-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import type { Campaign } from './campaign.ts';

/** Whether that time is in the future. */
export async function isAhead(db: Queryable, at: Date | null): Promise<boolean> {
  return at !== null && at > (await databaseNow(db));
}

/** Creates, or moves, the campaign's job for its time. */
export async function appoint(
  db: Queryable,
  { customerId, id }: Pick<Campaign, 'customerId' | 'id'>,
  at: Date,
): Promise<void> {
  const payload = { customerId: String(customerId), campaignId: String(id) };
  await enqueue(db, startScheduledCampaignJob, payload, { runAt: at, key: `campaigns.start:${id}` });
}
