/**
 * Runs the queue in this process: takes jobs, runs their tasks, and makes sure that jobs of a killed process are run by another
 * one within seconds.
 */
import type { EventEmitter } from 'node:events';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, parseCronItems, run, type TaskList, type WorkerPool } from 'graphile-worker';
import type pg from 'pg';
import type { Context } from '../domain/context.ts';
import { PutBack } from '../jobs/define-job.ts';
import { PLUGINS_FLAG } from '../jobs/plugin-work-jobs.ts';
import { putBackJob } from '../jobs/queue-internals-store.ts';
import { doOthersWait } from '../jobs/queue-priority-store.ts';
import { messageOf } from '../lib/errors.ts';
import { isTimeOut, isUnavailable } from '../lib/is-unavailable.ts';
import type { Log } from '../lib/log.ts';
import { CustomerShares } from './customer-shares.ts';
import { keepQueue } from './keep-queue.ts';
import { freeJobsOfDeadPools, proveLiveness, type Liveness } from './liveness.ts';
import { Orphans } from './orphans.ts';
import { openPluginPlaces } from './plugin-places.ts';
import { QueueWatch } from './queue-watch.ts';
import type { Task } from './task.ts';

export interface WorkerOptions {
  readonly ctx: Context;
  readonly tasks: readonly Task[];
  readonly concurrency: number;
  /** Cron lines, only for processes with that role. */
  readonly crontab: readonly { readonly task: string; readonly match: string }[];
  /** Takes no job until `resume` is called with this reason. */
  readonly pausedFor?: string | undefined;
}

export interface Worker {
  readonly id: string;
  /** True while it takes jobs and can prove that it lives. */
  isWorking(): boolean;
  /** What is wrong with the queue, as this process sees it; undefined: nothing. */
  queueProblem(): string | undefined;
  /** Runs no job as long as there is a reason, and asks the tasks to put back what they have not sent. */
  pause(reason: string): void;
  resume(reason: string): void;
  /** Starts no further job and asks the tasks to finish. */
  beginStop(): void;
  /** The same, waits for the tasks up to `graceMs`, then stops anyway. */
  stop(graceMs: number): Promise<void>;
}

const DEAD_POOLS_INTERVAL_MS = 2_000;
const POLL_INTERVAL_MS = 1_000;
/** How often a process without a free place checks whether a customer waits for one. */
const YIELD_INTERVAL_MS = 500;

/** Half a minute; longer outages are left to the queue. */
const OUTLAST_TRIES_MAX = 30;
const OUTLAST_WAIT_MS = 1_000;
/** Longer than a short stall, and short enough that supervisors do not kill the process first. */
const STOP_SILENCE_MS_MAX = 6_000;
const AWAY_INTERVAL_MS = 250;
const CLOCK_ONLY = 'worker.clock';
const PRESET = {
  pollInterval: POLL_INTERVAL_MS,
  // 0, not the default -1: with -1 a job that ends during the stop stays locked and runs again.
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
  gracefulShutdownAbortTimeout: 2_147_483_647,
} as const;

/** Starts working. Resolves when jobs can run. */
export async function runWorker(options: WorkerOptions): Promise<Worker> {
  const { ctx, tasks, concurrency } = options;
  const log = ctx.log.with({ module: 'workers' });
  const workerId = randomUUID();
  const stopping = new AbortController();
  const shares = new CustomerShares(concurrency, await openPluginPlaces(ctx, concurrency, stopping.signal));
  const queue = new QueueWatch();
  const orphans = new Orphans();
  if (options.pausedFor !== undefined) queue.pause(options.pausedFor);
  // One signal per job: for one job when it must yield, for all when the process stops or pauses.
  const ends = new Set<AbortController>();
  const liveness = await proveLiveness(ctx.database, log);
  await liveness.hold(workerId);
  const pool = queuePool(ctx, { size: shares.places + 2, stopping: stopping.signal, log });
  await freeJobsOfDeadPools(ctx.database);

  const queueRunner = await keepQueue({
    log,
    abortJobs: () => ends.forEach((end) => end.abort()),
    unlock: (poolId) => liveness.unlock(poolId),
    start: (events) =>
      run({
        pgPool: pool,
        events: followPool(events, { liveness, log, followers: [shares, queue, orphans] }),
        logger: queueLogger(log),
        noHandleSignals: true,
        parsedCronItems: parseCronItems([...options.crontab]),
        taskList: taskListOf(tasks, { ctx, workerId, shares, ends, stopping: stopping.signal }),
        forbiddenFlags: async () => {
          await queue.waitWhilePaused();
          return shares.forbiddenFlags();
        },
        preset: { worker: { ...PRESET, concurrentJobs: shares.places } },
      }),
  });
  const deadPoolsTimer = setInterval(() => {
    void freeJobsOfDeadPools(ctx.database).catch(() => undefined);
    void orphans.free(ctx.database, (jobId) => shares.isRunning(jobId)).catch(() => undefined);
  }, DEAD_POOLS_INTERVAL_MS);
  const crowdedOut = setInterval(() => void yieldToOthers(ctx, shares).catch(() => undefined), YIELD_INTERVAL_MS);
  let ended: Promise<void> | undefined;
  const beginStop = (): Promise<void> => {
    clearInterval(deadPoolsTimer);
    clearInterval(crowdedOut);
    stopping.abort();
    for (const end of ends) end.abort();
    queue.stop();
    return (ended ??= queueRunner.stop().catch(() => undefined));
  };
  return {
    id: workerId,
    isWorking: () => queueRunner.isRunning() && liveness.isHeld(),
    queueProblem: () => queue.problem(),
    pause(reason) {
      queue.pause(reason);
      for (const end of ends) end.abort();
    },
    resume: (reason) => queue.resume(reason),
    beginStop: () => void beginStop(),
    async stop(graceMs) {
      await endedOrAway(ctx, { ended: beginStop(), graceMs });
      await liveness.release();
      await withinOr(
        1_000,
        pool.end().catch(() => undefined),
        () => undefined,
      );
    },
  };
}

function queuePool(
  { database }: Context,
  { size, stopping, log }: { size: number; stopping: AbortSignal; log: Log },
): pg.Pool {
  const pool = database.openPool({ size, applicationName: 'mailwright-queue' });
  pool.on('error', (error) => {
    if (!stopping.aborted) log.warn('queue.connection_lost', { message: error.message });
  });
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/** Asks a job to stop in the middle when a customer without a place waits for one. */
async function yieldToOthers({ database }: Context, shares: CustomerShares): Promise<void> {
  const inside = shares.crowdedOut();
  if (inside.length === 0) return;
  // What plugins do pushes nobody out.
  if (await doOthersWait(database, [...inside, PLUGINS_FLAG])) shares.yieldSlot();
}

interface PoolFollowers {
  readonly liveness: Liveness;
  readonly log: Log;
  readonly followers: readonly { listenTo(events: EventEmitter): void }[];
}

function followPool(events: EventEmitter, { liveness, log, followers }: PoolFollowers): EventEmitter {
  for (const follower of followers) follower.listenTo(events);
  events.on('pool:create', ({ workerPool }: { workerPool: WorkerPool }) => {
    liveness
      .hold(workerPool.id)
      .catch((error: unknown) => log.warn('worker.hold_failed', { message: messageOf(error) }));
  });
  return events;
}

interface TaskFrame {
  readonly ctx: Context;
  readonly workerId: string;
  readonly shares: CustomerShares;
  readonly ends: Set<AbortController>;
  readonly stopping: AbortSignal;
}

function taskListOf(tasks: readonly Task[], { ctx, workerId, shares, ends, stopping }: TaskFrame): TaskList {
  const entries = tasks.map((task) => [
    task.name,
    async (payload: unknown, { job }: { job: { id: string; attempts: number; max_attempts: number } }) => {
      const log = ctx.log.with({ job: task.name, jobId: job.id });
      const end = new AbortController();
      ends.add(end);
      if (stopping.aborted) end.abort();
      shares.canYield(job.id, () => end.abort());
      try {
        const { id: jobId } = job;
        const helpers = {
          abortSignal: end.signal,
          workerId,
          jobId,
          attempt: job.attempts,
          attemptsMax: job.max_attempts,
        };
        await outlast(() => task.run({ ...ctx, log }, payload, helpers), { log, isOver: () => end.signal.aborted });
      } catch (error) {
        await recordFailure(ctx, { job, error, log });
        throw error;
      } finally {
        ends.delete(end);
        // A broken runner reports nothing any more.
        shares.leave(job.id);
      }
    },
  ]);
  // The library does not accept an empty list: a process that is only `cron` has one task that nobody calls.
  return entries.length > 0 ? Object.fromEntries(entries) : { [CLOCK_ONLY]: () => undefined };
}

interface FailedJob {
  readonly job: { readonly id: string; readonly attempts: number; readonly max_attempts: number };
  readonly error: unknown;
  readonly log: Log;
}

async function recordFailure({ database }: Context, { job, error, log }: FailedJob): Promise<void> {
  if (error instanceof PutBack) {
    log.info('job.put_back', { message: error.message });
    return putBackJob(database, job.id);
  }
  const level = job.attempts < job.max_attempts ? 'warn' : 'error';
  log[level]('job.failed', { attempt: job.attempts, attemptsMax: job.max_attempts, error });
}

/**
 * A short outage of the database is not the job's fault: it is tried again at once in its place. The queue would wait longer with
 * each try, for minutes after the database is back.
 */
async function outlast(work: () => Promise<void>, { log, isOver }: { log: Log; isOver: () => boolean }): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      // Work that hit a time limit once is left to the queue, which waits longer each time.
      if (tries >= OUTLAST_TRIES_MAX || isOver() || !isUnavailable(error) || isTimeOut(error)) throw error;
      log.warn('job.again', { tries, message: messageOf(error) });
      await sleep(OUTLAST_WAIT_MS);
    }
  }
}

function queueLogger(log: Log): Logger {
  return new Logger(() => (level, message) => {
    if (level === 'error') log.warn('queue', { message });
  });
}

/** Waits for the jobs within their time, or until the database has been away for too long to record their results. */
async function endedOrAway(
  { database, log }: Context,
  { ended, graceMs }: { ended: Promise<void>; graceMs: number },
): Promise<void> {
  const isOver = new AbortController();
  const untilAway = async (): Promise<void> => {
    while (!isOver.signal.aborted && (database.silentMs() ?? 0) < STOP_SILENCE_MS_MAX) await sleep(AWAY_INTERVAL_MS);
    if (!isOver.signal.aborted) log.warn('worker.stop_forced', { message: 'The database does not answer.' });
  };
  await withinOr(graceMs, Promise.race([ended, untilAway()]), () => log.warn('worker.stop_forced'));
  isOver.abort();
}

/** Waits for `work`, but no longer than `ms`; then logs it and continues. */
async function withinOr(ms: number, work: Promise<unknown>, late: () => void): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), ms);
  });
  if ((await Promise.race([work, timeout])) === 'late') late();
  clearTimeout(timer);
}
