/** The queue and the workers of the whole installation, as `/metrics` shows them; watched by administrators. */
import { isDeepStrictEqual } from 'node:util';
import { sharedFeed, type FeedSource } from '../../db/live-feed.ts';
import type { Notifications } from '../../db/listen.ts';
import type { Queryable } from '../../db/database.ts';
import type { Context } from '../context.ts';
import { queueByTask, type TaskQueue } from './monitoring-read-model.ts';
import { ALIVE_SECONDS, livingProcesses, type SeenProcess } from './process-store.ts';

export interface QueueState {
  /** By kind of job; kinds without a job are missing. */
  readonly tasks: readonly TaskQueue[];
  /** Alive in the last seconds. */
  readonly processes: readonly SeenProcess[];
}

/** A busy queue changes thousands of times a second, and reading it takes as long as it is: nobody announces it. */
export const QUEUE_READ_EVERY_MS = 2_000;

export async function readQueueState(db: Queryable): Promise<QueueState> {
  const [tasks, processes] = await Promise.all([queueByTask(db), livingProcesses(db, ALIVE_SECONDS)]);
  return { tasks, processes };
}

const feedOf = sharedFeed(({ database }: Pick<Context, 'database' | 'log'>) => sourceOf(database));

/** The state now, then each change, at most one in two seconds; read once for all watchers of a process. */
export function watchQueue(ctx: Context, notifications: Notifications): AsyncIterableIterator<QueueState> {
  return feedOf(ctx, notifications).watch('queue');
}

function sourceOf(db: Queryable): FeedSource<'queue', QueueState> {
  return {
    channels: [],
    keyOf: String,
    read: () => readQueueState(db),
    isSame: isDeepStrictEqual,
    intervalMs: QUEUE_READ_EVERY_MS,
    rereadMs: QUEUE_READ_EVERY_MS,
  };
}
