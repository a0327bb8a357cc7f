/** What the clock does. Times are UTC. */
import { makePartitionsJob, reviveCampaignsJob } from '../jobs/campaign-jobs.ts';

export const crontab = [
  { task: reviveCampaignsJob.name, match: '* * * * *' },
  { task: makePartitionsJob.name, match: '17 3 * * *' },
] as const;
