/** What the rows of imports answer (decision D47). */
import { z } from 'zod';
import { actionShape, countShape, timeShape, uidShape } from '../shapes.ts';

const importShape = z
  .strictObject({
    uid: uidShape,
    file_name: z.string(),
    status: z.enum(['uploading', 'queued', 'running', 'done', 'failed', 'cancelled']),
    total: countShape,
    processed: countShape,
    added: countShape,
    updated: countShape,
    unchanged: countShape,
    rejected: countShape,
    rejected_url: z.string().nullable(),
    error: z.string().nullable(),
    notices: z.array(z.string()),
    columns: z.array(z.strictObject({ header: z.string(), target: z.string().nullable() })),
    created_at: timeShape,
    finished_at: timeShape.nullable(),
  })
  .meta({ id: 'Import' });

export const oneImportShape = z.strictObject({ import: importShape });
export const importBegunShape = actionShape({ import_uid: uidShape, import: importShape });
export const importCancelledShape = actionShape({ import_uid: uidShape });
