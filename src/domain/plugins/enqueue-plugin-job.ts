/** The service `jobs` of a plugin: enqueuing its own jobs. */
import type { EnqueueJobOptions, JobPayload, PluginJobs } from '../../plugin-api/index.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { flagOfPlugin, PLUGINS_FLAG, runPluginWorkJob } from '../../jobs/plugin-work-jobs.ts';
import type { Context } from '../context.ts';
import { countWaitingJobs } from './plugin-job-read-model.ts';

/** A payload names things; the things themselves are in tables. */
const PAYLOAD_BYTES_MAX = 65_536;
/** More is a plugin that enqueues faster than it works. Workers look over the jobs of an inactive plugin at every look-up. */
const WAITING_MAX = 5_000;
const KEY_LENGTH_MAX = 100;
const AHEAD_MS_MAX = 366 * 86_400_000;
/** Counting reads the whole queue: so often at most. */
const COUNT_MS = 1_000;

/** The service of this plugin. `use` throws a sentence while the plugin is not active. */
export function pluginJobs(plugin: string, use: () => Context): PluginJobs {
  const waiting = new WaitingCount(plugin);
  return {
    async enqueue(name, payload, options = {}) {
      const ctx = use();
      const job = jobNamed(ctx, plugin, name);
      requireOptions(options);
      const plain = plainPayload(payload);
      job.check?.(plain);
      await waiting.add(ctx);
      const { runAt, key } = options;
      await enqueue(
        ctx.db,
        runPluginWorkJob,
        { plugin, hook: 'job', name, payload: plain },
        {
          flags: flagsOf(plugin),
          ...(runAt ? { runAt } : {}),
          ...(key === undefined ? {} : { key: `plugin:${plugin}:${key}` }),
          ...(job.attemptsMax === undefined ? {} : { attemptsMax: job.attemptsMax }),
        },
      );
    },
  };
}

/** The flags of what belongs to a plugin. */
export function flagsOf(plugin: string): readonly string[] {
  return [PLUGINS_FLAG, flagOfPlugin(plugin)];
}

function jobNamed({ hooks }: Context, plugin: string, name: string) {
  const own = hooks.owned('job').filter((entry) => entry.plugin === plugin);
  const found = own.find(({ value }) => value.name === name);
  if (found) return found.value;
  const names = own.map(({ value }) => `"${value.name}"`).join(', ');
  throw new Error(
    `The plugin "${plugin}" has no job "${name}". Add it to the hook "job" in boot(). ${names === '' ? 'It has none.' : `It has ${names}.`}`,
  );
}

function requireOptions({ runAt, key }: EnqueueJobOptions): void {
  if (key !== undefined && (typeof key !== 'string' || key === '' || key.length > KEY_LENGTH_MAX))
    throw new Error(`The key of a job must be a text of at most ${KEY_LENGTH_MAX} characters.`);
  if (runAt === undefined) return;
  if (!(runAt instanceof Date) || !(Math.abs(runAt.getTime() - Date.now()) <= AHEAD_MS_MAX))
    throw new Error('"runAt" of a job must be a Date within a year from now.');
}

/** As the job will get it. */
function plainPayload(payload: JobPayload): JobPayload {
  const json = JSON.stringify(payload);
  const plain: unknown = json === undefined ? undefined : JSON.parse(json);
  if (!isRecord(plain)) throw new Error('The payload of a job must be an object with plain data.');
  if (Buffer.byteLength(json) > PAYLOAD_BYTES_MAX)
    throw new Error(
      `The payload of a job is over ${PAYLOAD_BYTES_MAX} bytes: keep the data in a table, and give its id.`,
    );
  return plain;
}

function isRecord(value: unknown): value is JobPayload {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Counts at most once a second, and in between what it lets through itself. */
class WaitingCount {
  readonly #plugin: string;
  #count = 0;
  #countedAt = -Infinity;

  constructor(plugin: string) {
    this.#plugin = plugin;
  }

  async add({ database }: Context): Promise<void> {
    if (performance.now() - this.#countedAt > COUNT_MS) {
      this.#countedAt = performance.now();
      this.#count = await countWaitingJobs(database, this.#plugin, WAITING_MAX);
    }
    if (this.#count >= WAITING_MAX)
      throw new Error(
        `${WAITING_MAX} jobs of the plugin "${this.#plugin}" wait already: enqueue fewer, or make them faster.`,
      );
    this.#count += 1;
  }
}
