/** The schedule of jobs. Times are UTC. */
import { sweepAccountsJob, sweepRequestsJob } from '../jobs/account-jobs.ts';
import { expirePendingJob } from '../jobs/audience-jobs.ts';
import { eraseGoneJob, reviveLostJob } from '../jobs/automation-jobs.ts';
import { renewSubscriptionsJob, retryChargesJob, syncPaymentsJob } from '../jobs/billing-jobs.ts';
import { pollBounceHandlersJob, sweepBouncesJob } from '../jobs/bounce-jobs.ts';
import { dropPartitionsJob, makePartitionsJob, refreshReceivedJob, reviveCampaignsJob } from '../jobs/campaign-jobs.ts';
import { sweepEventsJob } from '../jobs/event-jobs.ts';
import { dropAbandonedUploadsJob } from '../jobs/file-jobs.ts';
import { dropAbandonedImportsJob } from '../jobs/import-jobs.ts';
import { runDueSlotsJob, sweepPluginJobsJob } from '../jobs/plugin-work-jobs.ts';
import { recheckDomainsJob } from '../jobs/sending-jobs.ts';
import { sweepVerificationsJob } from '../jobs/verification-jobs.ts';

export const crontab = [
  { task: reviveCampaignsJob.name, match: '* * * * *' },
  { task: refreshReceivedJob.name, match: '* * * * *' },
  { task: makePartitionsJob.name, match: '17 3 * * *' },
  { task: dropPartitionsJob.name, match: '32 3 * * *' },
  { task: dropAbandonedImportsJob.name, match: '47 * * * *' },
  { task: dropAbandonedUploadsJob.name, match: '53 * * * *' },
  { task: expirePendingJob.name, match: '7 * * * *' },
  { task: sweepAccountsJob.name, match: '37 4 * * *' },
  { task: sweepRequestsJob.name, match: '27 * * * *' },
  { task: eraseGoneJob.name, match: '41 * * * *' },
  { task: reviveLostJob.name, match: '*/10 * * * *' },
  { task: sweepEventsJob.name, match: '13 * * * *' },
  { task: runDueSlotsJob.name, match: '* * * * *' },
  { task: sweepPluginJobsJob.name, match: '53 4 * * *' },
  { task: renewSubscriptionsJob.name, match: '*/5 * * * *' },
  { task: retryChargesJob.name, match: '*/5 * * * *' },
  { task: syncPaymentsJob.name, match: '* * * * *' },
  { task: recheckDomainsJob.name, match: '*/10 * * * *' },
  { task: pollBounceHandlersJob.name, match: '* * * * *' },
  { task: sweepBouncesJob.name, match: '43 * * * *' },
  { task: sweepVerificationsJob.name, match: '23 * * * *' },
] as const;
