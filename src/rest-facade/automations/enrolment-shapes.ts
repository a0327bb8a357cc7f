/** What the rows of letting people in answer. */
import { z } from 'zod';
import { actionShape, countShape, timeShape, uidShape } from '../shapes.ts';

const refusedShape = z
  .array(z.strictObject({ reason: z.string(), people: countShape }))
  .meta({ description: 'How many may not enter, by reason.' });

export const previewShape = z
  .strictObject({
    ...{ version: z.int(), as_of: timeShape },
    matching: countShape.meta({ description: 'People who match, with those who may not enter.' }),
    may_enter: countShape.meta({ description: 'Who of them would enter: the number to name as `people`.' }),
    refused: refusedShape,
    triggers: z.array(z.string()).meta({ description: 'Types of the triggers by which people match.' }),
    triggers_left_out: z
      .array(z.string())
      .meta({ description: 'Types of the others: what they ask for happens at a moment.' }),
  })
  .meta({ id: 'EnteringPreview' });

export const enrolmentShape = z
  .strictObject({
    status: z.enum(['running', 'done', 'cancelled', 'failed']),
    reason: z
      .enum(['more_than_confirmed', 'condition_unavailable', 'failed'])
      .nullable()
      .meta({ description: 'Why it failed.' }),
    people: countShape.meta({ description: 'How many may enter, as whoever began it named it.' }),
    per_hour: countShape,
    segment_uid: uidShape.nullable(),
    without_triggers: z.boolean(),
    matching: countShape.meta({ description: 'How many matched when it began.' }),
    entered: countShape,
    refused: refusedShape,
    created_at: timeShape,
    finished_at: timeShape.nullable(),
  })
  .meta({ id: 'Enrolment' });

export const enrolmentActionShape = actionShape({ automation_uid: uidShape, enrolment: enrolmentShape });
