/** Drops what is kept of requests for a time only. */
import { sweepRequests } from '../../domain/accounts/sweep-accounts.ts';
import { sweepRequestsJob } from '../../jobs/account-jobs.ts';
import { defineTask } from '../task.ts';

export const sweepRequestsTask = defineTask(sweepRequestsJob, sweepRequests);
