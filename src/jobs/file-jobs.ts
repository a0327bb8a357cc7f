/** Jobs of uploaded files. */
import { z } from 'zod';
import { defineJob } from './define-job.ts';

/** Deletes unfinished uploads. */
export const dropAbandonedUploadsJob = defineJob({
  name: 'files.drop-abandoned',
  payload: z.looseObject({}),
  attemptsMax: 1,
});
