/** Saves a rule under a name. */
import { z } from 'zod';
import { newUid } from '../../../lib/ids.ts';
import { parseInput, singleLine } from '../../../lib/text.ts';
import { inTransaction, type Context } from '../../context.ts';
import { requireWithinLimit } from '../../billing/plans/require-within-limit.ts';
import { lockOwnedList } from '../find-owned-list.ts';
import { checkedRule } from './check-rule.ts';
import { tooManySegments } from './segment-errors.ts';
import { countSegments, insertSegment } from './segment-store.ts';
import { SEGMENT_NAME_MAX, SEGMENTS_PER_LIST_MAX } from './segment.ts';

export const createSegmentInput = z.object({ name: singleLine(SEGMENT_NAME_MAX) });

export interface CreateSegmentInput {
  readonly listUid: string;
  readonly name: string;
  /** Any value; it is checked here. */
  readonly rule: unknown;
}

/**
 * Makes a segment of the caller's list and returns its uid. Throws ValidationError (also `TOO_MANY_SEGMENTS`), `LIST_NOT_FOUND`,
 * `CAMPAIGN_NOT_FOUND` for campaigns in the rule.
 */
export async function createSegment(ctx: Context, input: CreateSegmentInput): Promise<{ uid: string }> {
  const { name } = parseInput(createSegmentInput, { name: input.name });
  return inTransaction(ctx, async (tx) => {
    const list = await lockOwnedList(tx, input.listUid);
    const rule = await checkedRule(tx, list, input.rule);
    const { customerId, id: listId } = list;
    await requireWithinLimit(tx.tx, { customerId, limit: 'segment_per_list_max', field: 'name', listId });
    if ((await countSegments(tx.db, list)) >= SEGMENTS_PER_LIST_MAX) throw tooManySegments(SEGMENTS_PER_LIST_MAX);
    const uid = newUid();
    await insertSegment(tx.db, { customerId, listId, uid, name, rule });
    return { uid };
  });
}
