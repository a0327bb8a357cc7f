/** What the rows of a server's senders answer. */
import { z } from 'zod';
import { actionShape } from '../shapes.ts';

const identityShape = z
  .strictObject({
    kind: z.enum(['domain', 'email']),
    name: z.string(),
    verified: z.boolean().meta({ description: 'Whether the vendor sends mail of it.' }),
    status: z.string().meta({ description: "The vendor's own word." }),
    records: z.array(
      z.strictObject({
        type: z.enum(['CNAME', 'TXT', 'MX']),
        name: z.string(),
        value: z.string(),
        found: z.boolean().nullable().meta({ description: 'Null: the vendor does not say.' }),
      }),
    ),
  })
  .meta({ id: 'SendingServerIdentity' });

export const identitiesShape = z.strictObject({ identities: z.array(identityShape) });
export const identityActionShape = actionShape({ identity: identityShape });
