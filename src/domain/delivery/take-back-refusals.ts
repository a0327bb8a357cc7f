/** Takes back what was written down of a bounce spike (refusal-counts.ts) before it was known for one. */
import { sql, type Queryable } from '../../db/database.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { queueRefusedAgain } from '../tracking/queue-refused-again.ts';

/** The first refusal was written a moment before it was counted, or its clock runs a little ahead. */
const MARGIN_SECONDS = 5;

/**
 * Those whom a server has refused as if nobody were there, since then, are queued again and are not suppressed. What is
 * on its way to being written down meets the campaign on hold (bounces/record-refusals.ts).
 */
export async function takeBackRefusals(db: Queryable, key: CampaignKey, since: Date): Promise<void> {
  const { customerId, campaignId } = key;
  const seconds = (Date.now() - since.getTime()) / 1_000 + MARGIN_SECONDS;
  const rows = await db.query<{ id: bigint }>(
    sql`SELECT DISTINCT subscriber_id AS id FROM hot.bounce_event
         WHERE customer_id = ${customerId} AND campaign_id = ${campaignId} AND at >= clock_timestamp() - make_interval(secs => ${seconds}) AND type = 'hard'
         ORDER BY subscriber_id`,
    'delivery.take-back-refusals',
  );
  const subscriberIds = rows.map(({ id }) => id);
  if (subscriberIds.length > 0) await queueRefusedAgain(db, { ...key, subscriberIds });
}
