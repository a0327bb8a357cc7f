/** How REST shows segments. */
import type { RestSegmentFragment } from '../../generated/operations.ts';
import { restTime } from '../timestamps.ts';

export function presentSegment(segment: RestSegmentFragment) {
  return {
    uid: segment.uid,
    name: segment.name,
    list_uid: segment.listUid,
    rule: segment.rule,
    created_at: restTime(segment.createdAt),
    updated_at: restTime(segment.updatedAt),
  };
}
