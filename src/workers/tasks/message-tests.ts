/** Jobs of message tests to a few addresses, and of dry runs. */
import { workDryRun } from '../../domain/campaigns/dry-run.ts';
import { sendTestMessages } from '../../domain/delivery/send-test-messages.ts';
import type { DriverPool } from '../../domain/sending/driver-pool.ts';
import { dryRunJob, sendTestMessagesJob } from '../../jobs/campaign-jobs.ts';
import { defineTask, type Task } from '../task.ts';

/** The tasks, over the drivers that all jobs of this process share. */
export function messageTestTasks(drivers: DriverPool): Task[] {
  return [
    defineTask(sendTestMessagesJob, (ctx, batch, { attempt }) =>
      sendTestMessages(ctx, batch, { drivers, isLastTry: attempt >= sendTestMessagesJob.attemptsMax }),
    ),
    defineTask(dryRunJob, (ctx, { customerId, dryRunId }, { abortSignal, attempt }) =>
      workDryRun(ctx, { customerId, id: dryRunId }, { abortSignal, isLastTry: attempt >= dryRunJob.attemptsMax }),
    ),
  ];
}
