/** What the rows of the session answer (decisions D11, D12). */
import { z } from 'zod';
import { actionShape, timeShape, uidShape } from '../shapes.ts';

export const installationShape = z.strictObject({
  name: z.string(),
  version: z.string(),
  base_url: z.string(),
  api_url: z.string(),
});

export const userShape = z
  .strictObject({
    id: z.int(),
    uid: uidShape,
    email: z.string(),
    first_name: z.string(),
    last_name: z.string(),
    timezone: z.string(),
    image: z.string().nullable().meta({ description: 'The public address of the picture.' }),
    status: z.string(),
    is_admin: z.boolean(),
    customer: z.strictObject({ uid: uidShape, name: z.string(), status: z.string() }).nullable(),
    created_at: timeShape,
  })
  .meta({ id: 'User' });

export const loggedInShape = actionShape({ token: z.string(), api_token: z.string(), user: userShape });
