/**
 * Which jobs of plugins may take a place of this process: those of plugins that are live here, one of each plugin at a time, and few
 * in all, so that what plugins do never keeps the product from sending.
 */
import type { EventEmitter } from 'node:events';
import type { Context } from '../domain/context.ts';
import { pluginNames } from '../domain/plugins/plugin-job-read-model.ts';
import { flagOfPlugin, PLUGINS_FLAG } from '../jobs/plugin-work-jobs.ts';
import { messageOf } from '../lib/errors.ts';

/** Jobs of a plugin that comes later than the last look are put back. */
const LOOK_MS = 5_000;
const PLACES_MAX = 2;

interface JobLike {
  readonly id: string;
  readonly flags: Readonly<Record<string, true>> | null;
}

/** Of so many places of this process. Reads which plugins there are, from time to time, until the process stops. */
export async function openPluginPlaces(
  ctx: Context,
  concurrency: number,
  stopping: AbortSignal,
): Promise<PluginPlaces> {
  const places = new PluginPlaces(ctx, concurrency);
  await places.look();
  const timer = setInterval(() => void places.look(), LOOK_MS);
  stopping.addEventListener('abort', () => clearInterval(timer));
  return places;
}

export class PluginPlaces {
  readonly #ctx: Context;
  readonly #places: number;
  /** The plugins of the jobs that run here. */
  readonly #running = new Map<string, string>();
  #known: readonly string[] = [];

  /** Of the places of this process, those of plugins are at most two, and at most half. */
  constructor(ctx: Context, concurrency: number) {
    this.#ctx = ctx;
    this.#places = Math.max(1, Math.min(PLACES_MAX, Math.floor(concurrency / 2)));
  }

  listenTo(events: EventEmitter): void {
    events.on('job:start', ({ job }: { job: JobLike }) => {
      const flag = Object.keys(job.flags ?? {}).find((it) => it.startsWith(`${PLUGINS_FLAG}:`));
      if (flag !== undefined) this.#running.set(job.id, flag);
    });
    events.on('job:complete', ({ job }: { job: JobLike }) => this.leave(job.id));
  }

  leave(jobId: string): void {
    this.#running.delete(jobId);
  }

  /** Flags of jobs that must not take a place now. */
  forbidden(): string[] {
    if (this.#running.size >= this.#places) return [PLUGINS_FLAG];
    const { plugins } = this.#ctx;
    const waiting = this.#known.filter((full) => {
      const [vendor = '', name = ''] = full.split('/');
      return !plugins?.isLive({ vendor, name });
    });
    return [...new Set([...waiting.map(flagOfPlugin), ...this.#running.values()])];
  }

  async look(): Promise<void> {
    try {
      this.#known = await pluginNames(this.#ctx.database);
    } catch (error) {
      this.#ctx.log.debug('plugins.not_read', { message: messageOf(error) });
    }
  }
}
