/** What the rows of bounce handlers and the bounce policy answer: extensions of the specification. */
import { z } from 'zod';
import { actionShape, countShape, timeShape, uidShape } from '../shapes.ts';

export const handlerShape = z
  .strictObject({
    uid: uidShape,
    name: z.string(),
    protocol: z.enum(['imap', 'pop3']),
    host: z.string(),
    port: z.int(),
    encryption: z.enum(['tls', 'starttls', 'none']),
    username: z.string(),
    folder: z.string(),
    keep_reports: z.boolean(),
    is_system: z.boolean(),
    status: z.enum(['active', 'inactive']),
    polled_at: timeShape.nullable(),
    last_error: z.string().nullable(),
    bounce_count: countShape,
    complaint_count: countShape,
    other_count: countShape,
    created_at: timeShape,
    updated_at: timeShape,
  })
  .meta({ id: 'BounceHandler' });

export const oneHandlerShape = z.strictObject({ bounce_handler: handlerShape });
export const handlerActionShape = actionShape({ bounce_handler_uid: uidShape, bounce_handler: handlerShape });
export const handlerDeletedShape = actionShape({ bounce_handler_uid: uidShape });
export const handlerTestedShape = actionShape({ bounce_handler_uid: uidShape, message_count: countShape });

const policyShape = z
  .strictObject({
    soft_bounce_limit: countShape.meta({ description: '0: soft bounces never suppress.' }),
    soft_bounce_days: countShape,
    is_own: z.boolean(),
  })
  .meta({ id: 'BouncePolicy' });

export const onePolicyShape = z.strictObject({ bounce_policy: policyShape });
export const policyActionShape = actionShape({ bounce_policy: policyShape });
