/** What the clock does. Times are UTC. */
import { expirePendingJob } from '../jobs/audience-jobs.ts';
import { makePartitionsJob, reviveCampaignsJob } from '../jobs/campaign-jobs.ts';
import { dropAbandonedImportsJob } from '../jobs/import-jobs.ts';

export const crontab = [
  { task: reviveCampaignsJob.name, match: '* * * * *' },
  { task: makePartitionsJob.name, match: '17 3 * * *' },
  { task: dropAbandonedImportsJob.name, match: '47 * * * *' },
  { task: expirePendingJob.name, match: '7 * * * *' },
] as const;
