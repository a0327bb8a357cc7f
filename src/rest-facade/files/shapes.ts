/** What the rows of files answer (specification 2.11, 4.10). */
import { z } from 'zod';
import { actionShape, timeShape, uidShape } from '../shapes.ts';

export const fileShape = z
  .strictObject({
    uid: uidShape,
    name: z.string(),
    path: z.string(),
    url: z.string().nullable(),
    content_type: z.string(),
    size: z.int(),
    created_at: timeShape,
  })
  .meta({ id: 'File' });

/** One file of a form or one address of the `files` parameter, and its result. */
export const fetchedFileShape = z.strictObject({
  file: z.string(),
  status: z.int().min(0).max(1),
  message: z.string(),
  url: z.string().optional(),
  file_uid: uidShape.optional(),
});

const uploadedShape = actionShape({ url: z.string(), file_uid: uidShape });
const severalShape = actionShape({
  url: z.string().meta({ description: 'The address of the first that was stored.' }),
  file_uid: uidShape,
  files: z.array(fetchedFileShape).meta({ description: 'One result for each file, in their order.' }),
});

/** The file or the files of a multipart form, or one result for each of `files`. */
export const uploadShape = z.union([uploadedShape, severalShape, z.array(fetchedFileShape)]);

export const deletedFileShape = actionShape({ file_uid: uidShape });
