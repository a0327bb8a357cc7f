/** What the rows of segments answer. */
import { z } from 'zod';
import { actionShape, countShape, timeShape, uidShape } from '../shapes.ts';

/** A rule is a tree: see the manual and GraphQL's `SegmentRuleInput`. */
const ruleShape = z.record(z.string(), z.unknown());

export const segmentShape = z
  .strictObject({
    uid: uidShape,
    name: z.string(),
    list_uid: uidShape,
    rule: ruleShape,
    created_at: timeShape,
    updated_at: timeShape,
  })
  .meta({ id: 'Segment' });

export const conditionShape = z
  .strictObject({
    plugin: z.string().meta({ description: '`vendor/name`' }),
    name: z.string(),
    label: z.string(),
    parameters: z.array(
      z.strictObject({
        name: z.string(),
        label: z.string(),
        type: z.enum(['text', 'number', 'boolean', 'day', 'option']),
        is_required: z.boolean(),
        min: z.number().nullable().meta({ description: 'Of a number its smallest value.' }),
        max: z.number().nullable().meta({ description: 'Of a number its largest value; of a text its length.' }),
        options: z.array(z.strictObject({ value: z.string(), label: z.string() })),
      }),
    ),
  })
  .meta({ id: 'SegmentCondition' });

export const oneSegmentShape = z.strictObject({ segment: segmentShape });
export const segmentActionShape = actionShape({ segment_uid: uidShape, segment: segmentShape });
export const segmentDeletedShape = actionShape({ segment_uid: uidShape });
export const segmentSizeShape = z.strictObject({ segment_uid: uidShape, count: countShape, counted_at: timeShape });
