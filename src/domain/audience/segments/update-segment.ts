/** Changes a segment. Campaigns under way keep their copy of the rule. */
import { z } from 'zod';
import { parseInput, singleLine } from '../../../lib/text.ts';
import { inTransaction, type Context } from '../../context.ts';
import { checkedRule } from './check-rule.ts';
import { findOwnedSegment } from './find-owned-segment.ts';
import { writeSegment } from './segment-store.ts';
import { SEGMENT_NAME_MAX } from './segment.ts';

export const updateSegmentInput = z.object({ name: singleLine(SEGMENT_NAME_MAX).optional() });

export interface UpdateSegmentInput {
  readonly name?: string | null | undefined;
  readonly rule?: unknown;
}

/**
 * Writes the given values and returns the uid. Throws ValidationError, `SEGMENT_NOT_FOUND`, and `CAMPAIGN_NOT_FOUND` for a campaign
 * that the rule names.
 */
export async function updateSegment(ctx: Context, uid: string, input: UpdateSegmentInput): Promise<{ uid: string }> {
  return inTransaction(ctx, async (tx) => {
    const segment = await findOwnedSegment(tx, uid, 'change');
    const { name } = parseInput(updateSegmentInput, { name: input.name ?? undefined });
    const list = { customerId: segment.customerId, id: segment.listId };
    const rule = input.rule === undefined || input.rule === null ? undefined : await checkedRule(tx, list, input.rule);
    await writeSegment(tx.db, segment, { name, rule });
    return { uid };
  });
}
