/** What the rows of plans answer (specification 2.8; decision D33). */
import { z } from 'zod';
import { actionShape, timeShape, uidShape } from '../shapes.ts';

const yesNo = z.enum(['yes', 'no']);

export const planShape = z
  .strictObject({
    uid: uidShape,
    name: z.string(),
    price: z.string().meta({ description: 'Of one period, as a decimal.' }),
    currency_code: z.string().length(3),
    frequency_amount: z.string(),
    frequency_unit: z.enum(['day', 'week', 'month', 'year']),
    options: z.record(z.string(), z.union([z.string(), z.record(z.string(), yesNo)])).meta({
      description:
        'All options by name, as texts; `sending_server_types` is an object. -1 is unlimited. `max_file_size_upload` (one file) and `max_size_upload_total` (all files together) are whole megabytes of 1,048,576 bytes.',
    }),
    color: z.string().nullable(),
    status: z.enum(['active', 'inactive']),
    quota: z.null(),
    custom_order: z.string(),
    created_at: timeShape,
    updated_at: timeShape,
  })
  .meta({ id: 'Plan' });

export const plansShape = z.array(planShape);
export const onePlanShape = z.strictObject({ plan: planShape });
export const planActionShape = actionShape({ plan_uid: uidShape, plan: planShape });
export const planDeletedShape = actionShape({ plan_uid: uidShape });

export const currenciesShape = z.array(
  z
    .strictObject({
      id: z.int().meta({ description: 'What `currency_id` takes.' }),
      code: z.string().length(3),
      name: z.string(),
      exponent: z.int().meta({ description: 'Digits behind the decimal point.' }),
    })
    .meta({ id: 'Currency' }),
);
