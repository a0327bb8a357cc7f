/** Jobs of imports. */
import { z } from 'zod';
import { defineJob } from './define-job.ts';

const id = z.coerce.bigint();

/** A fault that lasts longer than some hours of growing delays will not go away. */
const RUN_ATTEMPTS_MAX = 12;

/** Reads an uploaded file into its list, from where it stands to its end. */
export const runImportJob = defineJob({
  name: 'imports.run',
  payload: z.object({ customerId: id, importId: id }),
  attemptsMax: RUN_ATTEMPTS_MAX,
  isLong: true,
});

/** Drops uploads that nobody finished. */
export const dropAbandonedImportsJob = defineJob({
  name: 'imports.drop-abandoned',
  payload: z.looseObject({}),
  attemptsMax: 1,
});
