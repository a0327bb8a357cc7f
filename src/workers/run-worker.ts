/**
 * Runs the queue in this process: takes jobs up, hands them to their tasks, and sees to it that the jobs of a
 * killed process are taken up by another within seconds.
 */
import { EventEmitter } from 'node:events';
import { randomUUID } from 'node:crypto';
import { Logger, parseCronItems, run, type TaskList, type WorkerPool } from 'graphile-worker';
import pg from 'pg';
import type { Context } from '../domain/context.ts';
import { doOthersWait } from '../jobs/turns.ts';
import { messageOf } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import { CustomerShares } from './customer-shares.ts';
import { freeJobsOfDeadPools, proveLiveness, type Liveness } from './liveness.ts';
import type { Task } from './task.ts';

export interface WorkerOptions {
  readonly ctx: Context;
  readonly tasks: readonly Task[];
  readonly concurrency: number;
  /** Cron lines, only for processes with that role. */
  readonly crontab: readonly { readonly task: string; readonly match: string }[];
}

export interface Worker {
  readonly id: string;
  /** True while it takes jobs up and can prove that it lives. */
  isWorking(): boolean;
  /** Takes up nothing more and asks the tasks to finish. */
  beginStop(): void;
  /** The same, waits for the tasks up to `graceMs`, then lets go. */
  stop(graceMs: number): Promise<void>;
}

const SWEEP_INTERVAL_MS = 2_000;
const POLL_INTERVAL_MS = 1_000;
/** How often a process whose places are all taken looks whether somebody waits for one. */
const CROWD_INTERVAL_MS = 500;

/** Starts working. Resolves when jobs are being taken up. */
export async function runWorker(options: WorkerOptions): Promise<Worker> {
  const { ctx, tasks, concurrency } = options;
  const log = ctx.log.with({ room: 'workers' });
  const workerId = randomUUID();
  const stopping = new AbortController();
  const shares = new CustomerShares(concurrency);
  const liveness = await proveLiveness(ctx.database.url, log);
  await liveness.hold(workerId);
  const pool = new pg.Pool({
    connectionString: ctx.database.url,
    max: shares.places + 2,
    application_name: 'mailwright-queue',
  });
  pool.on('error', (error) => {
    if (!stopping.signal.aborted) log.warn('queue.connection_lost', { message: error.message });
  });
  pool.on('connect', (client) => client.on('error', () => undefined));
  await freeJobsOfDeadPools(ctx.database);

  const runner = await run({
    pgPool: pool,
    events: poolEvents({ liveness, shares, log }),
    logger: queueLogger(log),
    noHandleSignals: true,
    parsedCronItems: parseCronItems([...options.crontab]),
    taskList: taskListOf(tasks, { ctx, workerId, shares, stopping: stopping.signal }),
    forbiddenFlags: () => shares.forbiddenFlags(),
    preset: {
      worker: {
        concurrentJobs: shares.places,
        pollInterval: POLL_INTERVAL_MS,
        // 0, not the default -1: with -1 a job that ends during the stop stays locked and runs again.
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
        gracefulShutdownAbortTimeout: 2_147_483_647,
      },
    },
  });
  let working = true;
  runner.promise.then(
    () => (working = false),
    (error: unknown) => {
      working = false;
      log.error('worker.stopped', { message: messageOf(error) });
    },
  );
  const sweep = setInterval(() => void freeJobsOfDeadPools(ctx.database).catch(() => undefined), SWEEP_INTERVAL_MS);
  const crowd = setInterval(() => void makeRoomForOthers(ctx, shares).catch(() => undefined), CROWD_INTERVAL_MS);
  let ended: Promise<void> | undefined;
  const beginStop = (): Promise<void> => {
    clearInterval(sweep);
    clearInterval(crowd);
    stopping.abort();
    return (ended ??= runner.stop('asked to stop').catch(() => undefined));
  };
  return {
    id: workerId,
    isWorking: () => working && liveness.isHeld(),
    beginStop: () => void beginStop(),
    async stop(graceMs) {
      await withinOr(graceMs, beginStop(), () => log.warn('worker.stop_forced'));
      await liveness.release();
      await withinOr(
        1_000,
        pool.end().catch(() => undefined),
        () => undefined,
      );
    },
  };
}

/** Asks a job to stop in the middle when a customer without a place waits for one. */
async function makeRoomForOthers({ database }: Context, shares: CustomerShares): Promise<void> {
  const inside = shares.crowd();
  if (inside.length === 0) return;
  if (await doOthersWait(database, inside)) shares.makeRoom();
}

function poolEvents({ liveness, shares, log }: { liveness: Liveness; shares: CustomerShares; log: Log }): EventEmitter {
  const events = new EventEmitter();
  shares.follow(events);
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
  readonly stopping: AbortSignal;
}

function taskListOf(tasks: readonly Task[], { ctx, workerId, shares, stopping }: TaskFrame): TaskList {
  // One signal a job: it ends for the job alone when it makes room, for all when the process stops.
  const ends = new Set<AbortController>();
  stopping.addEventListener('abort', () => ends.forEach((end) => end.abort()));
  const entries = tasks.map((task) => [
    task.name,
    async (payload: unknown, { job }: { job: { id: string; attempts: number; max_attempts: number } }) => {
      const log = ctx.log.with({ job: task.name, jobId: job.id });
      const end = new AbortController();
      ends.add(end);
      if (stopping.aborted) end.abort();
      shares.canMakeRoom(job.id, () => end.abort());
      try {
        await task.run({ ...ctx, log }, payload, { abortSignal: end.signal, workerId, attempt: job.attempts });
      } catch (error) {
        const level = job.attempts < job.max_attempts ? 'warn' : 'error';
        log[level]('job.failed', { attempt: job.attempts, attemptsMax: job.max_attempts, error });
        throw error;
      } finally {
        ends.delete(end);
      }
    },
  ]);
  return Object.fromEntries(entries);
}

function queueLogger(log: Log): Logger {
  return new Logger(() => (level, message) => {
    if (level === 'error') log.warn('queue', { message });
  });
}

/** Waits for `work`, but no longer than `ms`; then says so and goes on. */
async function withinOr(ms: number, work: Promise<unknown>, late: () => void): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), ms);
  });
  if ((await Promise.race([work, timeout])) === 'late') late();
  clearTimeout(timer);
}
