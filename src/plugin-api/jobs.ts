/**
 * Work of a plugin that Mailwright runs in its workers: jobs that the plugin enqueues, lines of a timetable, tasks of each day. All
 * of it waits while the plugin is inactive. A run may come again after the death of a process: it must be able to run twice.
 */

/** What a run is told besides its payload. */
export interface PluginRun {
  /** 1 on the first try. */
  readonly attempt: number;
  /** Fires when the time is over, or when the process must stop: end soon. */
  readonly signal: AbortSignal;
}

/** How often and how long something may run. */
interface RunLimits {
  /** Tries until it is given up, 1 to 25, with a growing delay: the fifth follows after a minute, the tenth after three hours. 10 if absent. */
  readonly attemptsMax?: number;
  /** A run that takes longer counts as failed; 1 to 900. 60 if absent. */
  readonly secondsMax?: number;
}

/** Plain data: texts, numbers, true or false, null, lists and objects of these. At most 64 KB as JSON. */
export type JobPayload = Readonly<Record<string, unknown>>;

/** An entry of the hook `job`. */
export interface PluginJob extends RunLimits {
  /** Small letters, digits, `-` and `_`. Stored with waiting jobs: a new version must keep it as long as some wait. */
  readonly name: string;
  /** Throws an Error with a sentence when the payload is wrong. Called when a job is enqueued, and before each run. */
  check?(payload: JobPayload): void;
  /** Does the work. Throwing makes Mailwright try again later. */
  run(payload: JobPayload, run: PluginRun): void | Promise<void>;
}

/** What a run of a timetable is told. */
export interface SlotRun extends PluginRun {
  /** The time for which it runs; it may start later. */
  readonly slot: Date;
}

/**
 * An entry of the hook `cron_line`. Each time of the line runs once in the whole installation. Times that passed while nothing
 * worked run once, for the latest of them; those that passed while the plugin was inactive do not run.
 */
export interface CronLine extends RunLimits {
  readonly name: string;
  /** Minute, hour, day of the month, month, day of the week: `*`, numbers, lists, ranges, steps. UTC. */
  readonly line: string;
  run(run: SlotRun): void | Promise<void>;
}

/** An entry of the hook `daily_task`: as a cron line for this hour, at a minute that Mailwright chooses. */
export interface DailyTask extends RunLimits {
  readonly name: string;
  /** 0 to 23, UTC. */
  readonly hour: number;
  run(run: SlotRun): void | Promise<void>;
}

export interface EnqueueJobOptions {
  /** Not before this time; at most a year from now. */
  readonly runAt?: Date;
  /** A waiting job of the plugin with the same key is replaced. At most 100 characters. */
  readonly key?: string;
}

/** The service `jobs`. */
export interface PluginJobs {
  /**
   * Enqueues a job for the plugin's entry of this name in the hook `job`. Rejects when there is none, when its `check` refuses the payload,
   * or when over 5,000 jobs of the plugin wait.
   */
  enqueue(name: string, payload: JobPayload, options?: EnqueueJobOptions): Promise<void>;
}
