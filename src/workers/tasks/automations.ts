/** Jobs of automations: a call for everybody who waits at an API-call node. */
import { callEverybody } from '../../domain/automations/call-everybody.ts';
import { callEverybodyJob } from '../../jobs/automation-jobs.ts';
import { defineTask, type Task } from '../task.ts';

export const automationTasks: readonly Task[] = [
  defineTask(callEverybodyJob, (ctx, call, { abortSignal }) => callEverybody(ctx, call, () => abortSignal.aborted)),
];
