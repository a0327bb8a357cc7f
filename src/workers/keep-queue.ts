/**
 * Keeps the queue's runner working. If the database goes away while a job is reported as done, the runner treats its own state as
 * inconsistent and takes no more jobs, although the process lives. Then a new runner replaces it, and jobs that the old one could
 * not report are freed.
 */
import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Runner, WorkerPool } from 'graphile-worker';
import { messageOf } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';

export interface KeptQueue {
  /** False between the end of one runner and the start of the next. */
  isRunning(): boolean;
  stop(): Promise<void>;
}

export interface QueueKeeper {
  readonly start: (events: EventEmitter) => Promise<Runner>;
  /** Aborts the jobs of the broken runner. */
  readonly abortJobs: () => void;
  /** The pool with this id has ended: others may run its jobs. */
  readonly unlock: (poolId: string) => Promise<void>;
  readonly log: Log;
}

const START_PAUSE_MS = 500;
/** How long the jobs of a broken runner may take to end before others get them: the usual length of an SMTP dialogue. */
const JOBS_END_MS_MAX = 30_000;

/** Starts the first runner; rejects when that fails. */
export async function keepQueue(keeper: QueueKeeper): Promise<KeptQueue> {
  let current: Runner | undefined;
  let isStopping = false;

  const begin = async (): Promise<void> => {
    const events = new EventEmitter();
    const pools: string[] = [];
    events.on('pool:create', ({ workerPool }: { workerPool: WorkerPool }) => pools.push(workerPool.id));
    const runner = await keeper.start(events);
    // Asked to stop during the start.
    if (isStopping) return runner.stop('asked to stop');
    current = runner;
    const onBroken = (error: unknown): void => {
      if (isStopping || current !== runner) return;
      current = undefined;
      keeper.log.error('queue.broken', { message: messageOf(error) });
      keeper.abortJobs();
      void retire(runner, pools, keeper);
      void beginAgain();
    };
    firstLookUpFails(events, (cause) => {
      giveUp(runner);
      onBroken(cause);
    });
    events.once('pool:fatalError', ({ error }: { error: unknown }) => onBroken(error));
    runner.promise.then(() => onBroken(new Error('It ended.')), onBroken);
  };
  const beginAgain = async (): Promise<void> => {
    while (!isStopping && !current) {
      await sleep(START_PAUSE_MS);
      await begin().catch((error: unknown) => keeper.log.warn('queue.not_started', { message: messageOf(error) }));
    }
  };

  await begin();
  return {
    isRunning: () => current !== undefined,
    async stop() {
      isStopping = true;
      await current?.stop('asked to stop');
    },
  };
}

/** Otherwise it would continue to poll; that it cannot end cleanly no longer matters. */
function giveUp(runner: Runner): void {
  runner.stop('its first look-up failed').catch(() => undefined);
}

/**
 * The library reads the numbers of its tasks with the first look-up and keeps the result, also a failure: a runner whose first
 * look-up failed never finds a job.
 */
function firstLookUpFails(events: EventEmitter, onFailure: (error: unknown) => void): void {
  let isSettled = false;
  for (const good of ['job:start', 'worker:getJob:empty']) events.on(good, () => (isSettled = true));
  events.on('worker:getJob:error', ({ error }: { error: unknown }) => {
    if (isSettled) return;
    isSettled = true;
    onFailure(error);
  });
}

/** Waits for its running jobs, then gives up what it could not report. */
async function retire(runner: Runner, pools: readonly string[], { unlock, log }: QueueKeeper): Promise<void> {
  await Promise.race([runner.promise.catch(() => undefined), sleep(JOBS_END_MS_MAX)]);
  for (const pool of pools) {
    await unlock(pool).catch((error: unknown) => log.warn('queue.not_let_go', { message: messageOf(error) }));
  }
}
