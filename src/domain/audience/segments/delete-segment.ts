/** Deletes a segment that no campaign needs any more. */
import { inTransaction, type Context } from '../../context.ts';
import { findOwnedSegment } from './find-owned-segment.ts';
import { segmentInUse } from './segment-errors.ts';
import { campaignsInNeed, eraseSegment } from './segment-store.ts';

/** Campaigns named in a refusal; more would only be noise. */
const NAMED_CAMPAIGNS_MAX = 5;

/**
 * Deletes the caller's segment. Throws WrongStateError `SEGMENT_IN_USE` while a campaign that is not done uses it,
 * `SEGMENT_NOT_FOUND`.
 */
export async function deleteSegment(ctx: Context, uid: string): Promise<{ uid: string }> {
  return inTransaction(ctx, async (tx) => {
    // Waits for whoever is giving it to a campaign; they then find none.
    const segment = await findOwnedSegment(tx, uid, 'change');
    const campaigns = await campaignsInNeed(tx.db, segment, NAMED_CAMPAIGNS_MAX);
    if (campaigns.length > 0) throw segmentInUse(campaigns);
    await eraseSegment(tx.db, segment);
    return { uid };
  });
}
