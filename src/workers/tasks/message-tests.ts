/** Jobs of message tests to a few addresses, and of dry runs. */
import { workDryRun } from '../../domain/campaigns/dry-run.ts';
import { enqueueTestMessages } from '../../domain/delivery/campaigns/test-message.ts';
import { dryRunJob, sendTestMessagesJob } from '../../jobs/campaign-jobs.ts';
import { defineTask, type Task } from '../task.ts';

/** The first is of the version before, which sent tests by jobs: they become messages, each once. */
export const messageTestTasks: readonly Task[] = [
  defineTask(sendTestMessagesJob, ({ db }, batch) => enqueueTestMessages(db, batch)),
  defineTask(dryRunJob, (ctx, { customerId, dryRunId }, { abortSignal, attempt }) =>
    workDryRun(ctx, { customerId, id: dryRunId }, { abortSignal, isLastTry: attempt >= dryRunJob.attemptsMax }),
  ),
];
