/** What the rows of sending servers answer (specification 2.6; decision D29). */
import { z } from 'zod';
import { actionShape, timeShape, uidShape } from '../shapes.ts';

const row = {
  uid: uidShape,
  name: z.string(),
  type: z.string(),
  status: z.enum(['active', 'inactive']),
  created_at: timeShape,
  updated_at: timeShape,
};

export const serverRowShape = z.strictObject(row).meta({ id: 'SendingServerRow' });

const serverShape = z
  .strictObject({
    ...row,
    settings: z.record(z.string(), z.unknown()).meta({ description: 'As its driver names them, without credentials.' }),
    default_from_email: z.string(),
    quota_value: z.int().meta({ description: '-1: no limit.' }),
    quota_base: z.int().nullable(),
    quota_unit: z.string().nullable(),
    is_system: z.boolean(),
  })
  .meta({ id: 'SendingServer' });

export const oneServerShape = z.strictObject({ sending_server: serverShape });
export const serverActionShape = actionShape({ sending_server_uid: uidShape, sending_server: serverShape });
export const serverDeletedShape = actionShape({ sending_server_uid: uidShape });
