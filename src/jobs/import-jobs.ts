/** Jobs of imports. */
import { z } from 'zod';
import { defineJob } from './define-job.ts';

const id = z.coerce.bigint();

/** With the growing delays between them, so many tries take hours. A fault that lasts longer does not end by itself. */
const RUN_ATTEMPTS_MAX = 12;

/** Imports an uploaded file into its list, from the last position to the end. */
export const runImportJob = defineJob({
  name: 'imports.run',
  payload: z.object({ customerId: id, importId: id }),
  attemptsMax: RUN_ATTEMPTS_MAX,
  isLong: true,
});

/** Has a plugin start an import. It takes as long as the plugin does, at most a minute. */
export const dispatchImportJob = defineJob({
  name: 'imports.dispatch',
  payload: z.object({ customerId: id, importUid: z.string() }),
  attemptsMax: RUN_ATTEMPTS_MAX,
  isLong: true,
});

/** Deletes unfinished uploads. */
export const dropAbandonedImportsJob = defineJob({
  name: 'imports.drop-abandoned',
  payload: z.looseObject({}),
  attemptsMax: 1,
});
