/** Reverts what was recorded of a bounce spike (refusal-counts.ts) before it was recognised. */
import type { Queryable } from '../../../db/database.ts';
import type { CampaignKey } from '../../statistics/campaign-key.ts';
import { hardBouncesWithin, queueRefusedAgain } from '../../tracking/refused-again-store.ts';

/** The first refusal was written a moment before it was counted, or its clock is a little ahead. */
const MARGIN_SECONDS = 5;

/**
 * Recipients whom a server has refused as unknown since then are queued again and are not suppressed. Refusals that are recorded
 * only after this find the campaign paused for the spike, and are then queued again there (bounces/record-refusals.ts).
 */
export async function takeBackRefusals(db: Queryable, key: CampaignKey, since: Date): Promise<void> {
  const seconds = (Date.now() - since.getTime()) / 1_000 + MARGIN_SECONDS;
  const subscriberIds = await hardBouncesWithin(db, key, seconds);
  if (subscriberIds.length > 0) await queueRefusedAgain(db, { ...key, subscriberIds });
}
