/** How REST shows segments. */
import type { RestSegmentFragment, SegmentConditionsQuery } from '../../generated/operations.ts';
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

type Conditions = Extract<SegmentConditionsQuery['segmentConditions'], { nodes: unknown }>;

export function presentCondition({ parameters, ...condition }: Conditions['nodes'][number]) {
  return {
    ...condition,
    parameters: parameters.map(({ isRequired, min, max, ...parameter }) => ({
      ...{ ...parameter, is_required: isRequired, min: min ?? null, max: max ?? null },
    })),
  };
}
