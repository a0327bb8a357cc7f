/** What the rows of verifications answer. */
import { z } from 'zod';
import { actionShape, countShape, timeShape, uidShape } from '../shapes.ts';

export const verificationShape = z
  .strictObject({
    uid: uidShape,
    list_uid: uidShape,
    import_uid: uidShape
      .nullable()
      .meta({ description: 'Only people whom this import has added; null: those of the list.' }),
    verification_server: z.strictObject({ uid: z.string(), name: z.string() }),
    older_than_days: z.int().nullable(),
    suppresses: z.boolean().meta({ description: 'Whether addresses that it finds undeliverable are suppressed.' }),
    status: z.enum(['queued', 'running', 'paused', 'done', 'cancelled']),
    total: countShape.nullable().meta({ description: 'People to verify; null until it begins.' }),
    processed: countShape,
    deliverable: countShape,
    undeliverable: countShape,
    risky: countShape,
    unknown: countShape,
    reused: countShape.meta({
      description: 'Of the processed those whose address was verified on another list not long ago: nobody was asked.',
    }),
    suppressed: countShape.meta({
      description: 'Addresses that it has suppressed; those that were suppressed before are not counted.',
    }),
    reason: z.string().nullable().meta({ description: 'Why it is paused.' }),
    retry_at: timeShape
      .nullable()
      .meta({ description: 'When a paused one is tried again; null: when somebody resumes it.' }),
    created_at: timeShape,
    started_at: timeShape.nullable(),
    finished_at: timeShape.nullable(),
  })
  .meta({ id: 'Verification' });

export const oneVerificationShape = z.strictObject({ verification: verificationShape });
export const verificationActionShape = actionShape({ verification_uid: uidShape, verification: verificationShape });
