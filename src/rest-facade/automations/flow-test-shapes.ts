/** What the rows of live tests answer. */
import { z } from 'zod';
import { actionShape, countShape, timeShape, uidShape } from '../shapes.ts';

const stepShape = z.strictObject({
  node: z.string(),
  at: timeShape.meta({ description: 'When it would be: the clock of a test jumps over waits.' }),
  happened_at: timeShape,
  what: z.enum(['passed', 'left', 'parked', 'waits']),
  ...{ port: z.string().nullable(), reason: z.string().nullable() },
  message_uid: uidShape.nullable().meta({ description: 'The mail that was sent.' }),
});

export const testShape = z
  .strictObject({
    uid: uidShape,
    status: z.enum(['running', 'done', 'cancelled', 'failed']),
    reason: z
      .enum(['too_many_tests', 'too_many_steps', 'suppressed', 'condition_unavailable', 'failed'])
      .nullable()
      .meta({ description: 'Why it failed.' }),
    version: z.int().nullable().meta({ description: 'The published version; null: the draft.' }),
    draft_version: z.int().nullable(),
    email: z.string(),
    subscriber_uid: uidShape.nullable().meta({ description: 'Whose values are used; null: sample values.' }),
    wait_seconds: countShape,
    node: z.string().nullable().meta({ description: 'Where it is; null: it has ended.' }),
    next_at: timeShape.nullable(),
    steps: z.array(stepShape),
    created_at: timeShape,
    finished_at: timeShape.nullable(),
  })
  .meta({ id: 'AutomationTest' });

export const testActionShape = actionShape({ automation_uid: uidShape, test: testShape });
