/** What the clock does. Times are UTC. */
import { makePartitionsJob, reviveCampaignsJob } from '../jobs/campaign-jobs.ts';
import { dropAbandonedImportsJob } from '../jobs/import-jobs.ts';

export const crontab = [
  { task: reviveCampaignsJob.name, match: '* * * * *' },
  { task: makePartitionsJob.name, match: '17 3 * * *' },
  { task: dropAbandonedImportsJob.name, match: '47 * * * *' },
] as const;
