/** Drops what is kept of requests for a time only. */
import { dropOldCalls } from '../../domain/accounts/idempotent-calls.ts';
import { dropEndedWindows } from '../../domain/accounts/request-counter.ts';
import { sweepRequestsJob } from '../../jobs/account-jobs.ts';
import { defineTask } from '../task.ts';

export const sweepRequestsTask = defineTask(sweepRequestsJob, async ({ database }) => {
  await dropEndedWindows(database);
  await dropOldCalls(database);
});
