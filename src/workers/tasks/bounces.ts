/** Bounces: what servers said while messages were handed over. */
import { recordRefusals } from '../../domain/bounces/record-refusals.ts';
import { recordRefusalsJob } from '../../jobs/bounce-jobs.ts';
import { defineTask } from '../task.ts';

export const recordRefusalsTask = defineTask(recordRefusalsJob, recordRefusals);

export const bounceTasks = [recordRefusalsTask];
