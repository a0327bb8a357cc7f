/** The work of plugins, and what keeps it going. */
import { enqueueDueSlots } from '../../domain/plugins/due-slots.ts';
import { sweepPluginJobs } from '../../domain/plugins/plugin-jobs.ts';
import { runPluginWork } from '../../domain/plugins/run-plugin-work.ts';
import { runDueSlotsJob, runPluginWorkJob, sweepPluginJobsJob } from '../../jobs/plugin-work-jobs.ts';
import { defineTask } from '../task.ts';

export const pluginTasks = [
  defineTask(runPluginWorkJob, runPluginWork),
  defineTask(runDueSlotsJob, enqueueDueSlots),
  defineTask(sweepPluginJobsJob, sweepPluginJobs),
];
