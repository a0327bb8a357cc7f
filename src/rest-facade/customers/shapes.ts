/** What the rows of customers answer (specification 2.7, 4.7; decision D32). */
import { z } from 'zod';
import { contactShape } from '../lists/shapes.ts';
import { actionShape, timeShape, uidShape } from '../shapes.ts';

export const customerShape = z
  .strictObject({
    uid: uidShape,
    name: z.string(),
    email: z.string(),
    first_name: z.string(),
    last_name: z.string(),
    image: z.string().nullable().meta({ description: 'The public address of its picture.' }),
    // Empty for a customer without one.
    contact: z.union([contactShape, z.strictObject({})]),
    timezone: z.string().meta({ description: 'A name of the IANA database.' }),
    language_id: z.int().nullable().meta({ description: 'See `GET /languages`.' }),
    status: z.enum(['active', 'disabled']),
    options: z.array(z.never()),
    current_period_ends_at: timeShape.nullable(),
    created_at: timeShape,
    updated_at: timeShape,
  })
  .meta({ id: 'Customer' });

export const oneCustomerShape = z.strictObject({ customer: customerShape });
export const customerCreatedShape = actionShape({
  customer_uid: uidShape,
  api_token: z.string().meta({ description: 'Shown this once.' }),
  customer: customerShape,
});
export const customerActionShape = actionShape({ customer_uid: uidShape });

export const languagesShape = z.array(
  z
    .strictObject({
      id: z.int().meta({ description: 'What `language_id` takes.' }),
      code: z.string(),
      name: z.string(),
    })
    .meta({ id: 'Language' }),
);
