/**
 * Group commit: single items come in, batches are written, and each caller's promise resolves when its item is safe. While one
 * batch is being written the next one gathers, so batches grow with the load and a single item hardly waits.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export interface GroupCommit<Item> {
  /** Resolves when the batch with this item is written; rejects when that failed or too many wait. */
  add(item: Item): Promise<void>;
  /** Writes what waits; nothing is accepted afterwards. */
  close(): Promise<void>;
}

export interface GroupCommitOptions<Item> {
  readonly batchMax: number;
  /** How long the first item after an idle time waits for others; 0: until current events are handled. */
  readonly waitMs: number;
  /** With so many items a second batch is written in parallel; fewer, or all when absent, wait for the first one's end. */
  readonly anotherAt?: number;
  /** After a batch its writer waits so long for more, unless a whole batch waits: under load batches are larger. Absent: it does not wait. */
  readonly restMs?: number;
  /** Items that may wait, so that a database that is away costs bounded memory. */
  readonly waitingMax: number;
  readonly write: (batch: readonly Item[]) => Promise<void>;
}

/** One waits for the disk while the other is sent; more writers would make the batches small. */
const WRITERS_MAX = 2;

interface Waiting<Item> {
  readonly item: Item;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export function createGroupCommit<Item>(options: GroupCommitOptions<Item>): GroupCommit<Item> {
  const { batchMax, waitMs, waitingMax, anotherAt = Infinity, restMs = 0 } = options;
  let waiting: Waiting<Item>[] = [];
  let cancel: (() => void) | undefined;
  const writing = new Set<Promise<void>>();
  let closed = false;

  function start(): void {
    cancel?.();
    cancel = undefined;
    if (waiting.length === 0 || writing.size >= WRITERS_MAX) return;
    const writer = writeAll().finally(() => {
      writing.delete(writer);
      // What came after the writer had found nothing more, and before it was gone.
      if (waiting.length > 0 && writing.size === 0) start();
    });
    writing.add(writer);
  }

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.length > batchMax ? waiting.slice(0, batchMax) : waiting;
      waiting = waiting.length > batchMax ? waiting.slice(batchMax) : [];
      await options.write(batch.map(({ item }) => item)).then(
        () => batch.forEach(({ resolve }) => resolve()),
        (error: unknown) => batch.forEach(({ reject }) => reject(error)),
      );
      if (restMs > 0 && waiting.length < batchMax && !closed) await sleep(restMs);
    }
  }

  return {
    add(item) {
      if (closed) return Promise.reject(new Error('Closing: nothing more is taken.'));
      if (waiting.length >= waitingMax) return Promise.reject(new Error('Too many items wait to be written.'));
      const written = new Promise<void>((resolve, reject) => waiting.push({ item, resolve, reject }));
      if (waiting.length >= (writing.size === 0 ? batchMax : anotherAt)) start();
      else if (writing.size === 0) cancel ??= later(start, waitMs);
      return written;
    },
    async close() {
      closed = true;
      start();
      while (writing.size > 0) await Promise.all(writing);
    },
  };
}

/** Runs `act` later; returns how to cancel it. */
function later(act: () => void, waitMs: number): () => void {
  if (waitMs === 0) {
    const immediate = setImmediate(act);
    return () => clearImmediate(immediate);
  }
  const timer = setTimeout(act, waitMs);
  return () => clearTimeout(timer);
}
