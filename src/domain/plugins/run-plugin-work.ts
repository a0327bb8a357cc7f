/**
 * Running the work of a plugin: a job, or a time of its timetable. The code is the one that is live in this process at that moment;
 * while the plugin is not live here, the work waits.
 */
import { PutBack } from '../../jobs/define-job.ts';
import type { PluginWork } from '../../jobs/plugin-work-jobs.ts';
import { messageOf } from '../../lib/errors.ts';
import type { PluginRun } from '../../plugin-api/index.ts';
import type { Context } from '../context.ts';
import { hostOf } from './find-plugin.ts';
import { findPluginRow } from './plugin-store.ts';

/** Unless the entry says otherwise. */
const SECONDS_MAX = 60;

export interface WorkHelpers {
  readonly abortSignal: AbortSignal;
  readonly attempt: number;
  readonly attemptsMax: number;
}

interface Runnable {
  readonly secondsMax?: number | undefined;
  readonly start: (run: PluginRun) => void | Promise<void>;
}

/** Runs it. Throws PutBack while the plugin is not live here; else what the plugin throws, and when it takes too long. */
export async function runPluginWork(ctx: Context, work: PluginWork, helpers: WorkHelpers): Promise<void> {
  const { plugin, hook, name } = work;
  const [vendor = '', ownName = ''] = plugin.split('/');
  const key = { vendor, name: ownName };
  const about = { plugin, hook, name };
  if (!hostOf(ctx).isLive(key)) {
    if (await findPluginRow(ctx.db, key)) throw new PutBack(`The plugin "${plugin}" is not active here.`);
    // It was deleted while the job began.
    return ctx.log.info('plugin.job_dropped', about);
  }
  const { attempt, attemptsMax } = helpers;
  try {
    const found = runnableOf(ctx, work);
    if (!found) throw new Error(`The plugin has no "${name}" in its hook "${hook}".`);
    const msMax = (found.secondsMax ?? SECONDS_MAX) * 1_000;
    const signal = AbortSignal.any([helpers.abortSignal, AbortSignal.timeout(msMax)]);
    await ctx.hooks.contained.run({ plugin, hook }, () => found.start({ attempt, signal }), { timeoutMs: msMax });
  } catch (error) {
    const isLast = attempt >= attemptsMax;
    const details = { ...about, attempt, attemptsMax, message: messageOf(error) };
    if (isLast) ctx.log.error('plugin.job_given_up', details);
    else ctx.log.warn('plugin.job_failed', details);
    throw failure(details.message);
  }
}

function runnableOf({ hooks }: Context, { plugin, hook, name, payload }: PluginWork): Runnable | undefined {
  if (hook === 'job') {
    const job = named(hooks.owned(hook), plugin, name);
    return job && { secondsMax: job.secondsMax, start: (run) => (job.check?.(payload), job.run(payload, run)) };
  }
  const line = hook === 'cron_line' ? named(hooks.owned(hook), plugin, name) : named(hooks.owned(hook), plugin, name);
  const slot = new Date(String(payload['slot']));
  return line && { secondsMax: line.secondsMax, start: (run) => line.run({ ...run, slot }) };
}

function named<Entry extends { readonly name: string }>(
  entries: readonly { readonly plugin: string; readonly value: Entry }[],
  plugin: string,
  name: string,
): Entry | undefined {
  return entries.find((entry) => entry.plugin === plugin && entry.value.name === name)?.value;
}

/** Without its cause: a connection that a plugin could not open looks like an outage of the database, for which workers try again at once. */
function failure(message: string): Error {
  return new Error(message);
}
