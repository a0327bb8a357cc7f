/** When a scheduled campaign starts. One clock judges that, the database's: the queue wakes the job by the same one. */
import type { Queryable } from '../../db/database.ts';
import { databaseNow } from '../../db/now.ts';
import { startScheduledCampaignJob } from '../../jobs/campaign-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import type { Campaign } from './campaign.ts';

/** Whether that time is still to come. */
export async function isAhead(db: Queryable, at: Date | null): Promise<boolean> {
  return at !== null && at > (await databaseNow(db));
}

/** Makes, or moves, the campaign's appointment with the queue. */
export async function appoint(
  db: Queryable,
  { customerId, id }: Pick<Campaign, 'customerId' | 'id'>,
  at: Date,
): Promise<void> {
  const payload = { customerId: String(customerId), campaignId: String(id) };
  await enqueue(db, startScheduledCampaignJob, payload, { runAt: at, key: `campaigns.start:${id}` });
}
