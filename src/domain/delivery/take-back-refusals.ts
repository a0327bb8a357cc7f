/** Takes back what was written down of a bounce spike (refusal-counts.ts) before it was known for one. */
import type { Queryable } from '../../db/database.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { hardBouncesWithin, queueRefusedAgain } from '../tracking/refused-again-store.ts';

/** The first refusal was written a moment before it was counted, or its clock runs a little ahead. */
const MARGIN_SECONDS = 5;

/**
 * Those whom a server has refused as if nobody were there, since then, are queued again and are not suppressed. What is
 * on its way to being written down meets the campaign on hold (bounces/record-refusals.ts).
 */
export async function takeBackRefusals(db: Queryable, key: CampaignKey, since: Date): Promise<void> {
  const seconds = (Date.now() - since.getTime()) / 1_000 + MARGIN_SECONDS;
  const subscriberIds = await hardBouncesWithin(db, key, seconds);
  if (subscriberIds.length > 0) await queueRefusedAgain(db, { ...key, subscriberIds });
}
