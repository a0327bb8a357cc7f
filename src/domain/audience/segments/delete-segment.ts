/** Deletes a segment that no campaign and no published flow needs any more. */
import { inTransaction, type Context } from '../../context.ts';
import { flowsWithSegment } from '../../flow-uses/flow-use-read-model.ts';
import { findOwnedSegment } from './find-owned-segment.ts';
import { segmentBeginsFlows, segmentInUse } from './segment-errors.ts';
import { campaignsInNeed, eraseSegment } from './segment-store.ts';

/** Campaigns named in an error message. */
const NAMED_MAX = 5;

/**
 * Deletes the caller's segment. Throws WrongStateError `SEGMENT_IN_USE` while a campaign that is not done uses it, or a published
 * flow begins by it (D86), `SEGMENT_NOT_FOUND`.
 */
export async function deleteSegment(ctx: Context, uid: string): Promise<{ uid: string }> {
  return inTransaction(ctx, async (tx) => {
    // Waits for a transaction that gives it to a campaign; later ones do not find it.
    const segment = await findOwnedSegment(tx, uid, 'change');
    const campaigns = await campaignsInNeed(tx.db, segment, NAMED_MAX);
    if (campaigns.length > 0) throw segmentInUse(campaigns);
    const flows = await flowsWithSegment(tx.db, segment);
    if (flows.length > 0) throw segmentBeginsFlows(flows);
    await eraseSegment(tx.db, segment);
    return { uid };
  });
}
