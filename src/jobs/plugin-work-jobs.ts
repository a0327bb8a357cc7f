/** Jobs of plugins, and of the timetables that plugins have. */
import { z } from 'zod';
import { defineJob } from './define-job.ts';

/** What of a plugin runs: the hook and the name of the entry. */
const pluginWork = z.object({
  /** `vendor/name`. */
  plugin: z.string(),
  hook: z.enum(['job', 'cron_line', 'daily_task']),
  name: z.string(),
  payload: z.record(z.string(), z.unknown()),
});

/** Tries, unless the entry says otherwise: the last follows after three hours. */
const ATTEMPTS_MAX = 10;

/** Runs the code of a plugin; with its flags, by which workers leave it alone while the plugin is inactive. */
export const runPluginWorkJob = defineJob({ name: 'plugins.run', payload: pluginWork, attemptsMax: ATTEMPTS_MAX });
export type PluginWork = z.output<typeof pluginWork>;

/** On all jobs of plugins. */
export const PLUGINS_FLAG = 'plugin';

export function flagOfPlugin(plugin: string): string {
  return `${PLUGINS_FLAG}:${plugin}`;
}

/** Enqueues what is due of the timetables of plugins. */
export const runDueSlotsJob = defineJob({ name: 'plugins.due-slots', payload: z.looseObject({}), attemptsMax: 1 });

/** Deletes the jobs of plugins that were given up long ago. */
export const sweepPluginJobsJob = defineJob({ name: 'plugins.sweep', payload: z.looseObject({}), attemptsMax: 1 });
