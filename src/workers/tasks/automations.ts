/** Jobs of automations: a call for everybody who waits at an API-call node, mails to their owners, and erasing what is left of deleted ones. */
import { callEverybody } from '../../domain/automations/call-everybody.ts';
import { eraseGone } from '../../domain/automations/delete-automation.ts';
import { enqueueStoppedMails } from '../../domain/automations/watch-outage.ts';
import { callEverybodyJob, eraseGoneJob, stoppedMailJob } from '../../jobs/automation-jobs.ts';
import { defineTask, type Task } from '../task.ts';

export const automationTasks: readonly Task[] = [
  defineTask(callEverybodyJob, (ctx, call, { abortSignal }) => callEverybody(ctx, call, () => abortSignal.aborted)),
  defineTask(stoppedMailJob, (ctx, stopped, { jobId }) => enqueueStoppedMails(ctx, jobId, stopped)),
  defineTask(eraseGoneJob, (ctx, _payload, { abortSignal }) => eraseGone(ctx, () => abortSignal.aborted)),
];
