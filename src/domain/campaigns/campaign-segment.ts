/** Which segment a campaign may be sent to: only one of its own list, and never a wider audience by accident. */
import { ValidationError } from '../../lib/errors.ts';
import { findOwnedSegment } from '../audience/segments/find-owned-segment.ts';
import type { TransactionContext } from '../context.ts';

interface Choice {
  /** The list that the campaign will have. */
  readonly listId: bigint;
  /** Input: undefined changes nothing, null or an empty text means everybody. */
  readonly segmentUid: string | null | undefined;
  /** The present values. */
  readonly current?: { readonly listId: bigint; readonly segmentId: bigint | null } | undefined;
}

/**
 * The segment's id to write; undefined changes nothing. The segment cannot be deleted before the transaction ends. Throws
 * ValidationError for a segment of another list, also when only the list changes; `SEGMENT_NOT_FOUND`.
 */
export async function segmentToWrite(tx: TransactionContext, choice: Choice): Promise<bigint | null | undefined> {
  const { listId, segmentUid, current } = choice;
  if (segmentUid === undefined) {
    const isTorn = current && current.segmentId !== null && current.listId !== listId;
    if (isTorn) throw otherList('The segment belongs to the previous list: choose a segment of the new list, or none.');
    return undefined;
  }
  if (segmentUid === null || segmentUid === '') return null;
  const segment = await findOwnedSegment(tx, segmentUid, 'use');
  if (segment.listId !== listId) throw otherList('The segment must be one of the list.');
  return segment.id;
}

function otherList(sentence: string): ValidationError {
  return new ValidationError({ segmentUid: [sentence] }, 'SEGMENT_OF_OTHER_LIST');
}
