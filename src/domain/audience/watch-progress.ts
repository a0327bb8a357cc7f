/** Follows work in the background across all processes: by LISTEN/NOTIFY, and by reading again now and then. */
import type { Notifications } from '../../db/listen.ts';
import { NotFoundError } from '../../lib/errors.ts';

/** A notification can be lost while a connection is made: watchers see a change this late at most. */
const REREAD_MS = 5_000;

export interface WatchedWork<Work> {
  /** The channel on which its uid is sent after a change. */
  readonly channel: string;
  readonly uid: string;
  /** Throws NotFoundError when it is gone. */
  read(): Promise<Work>;
  isOpen(work: NoInfer<Work>): boolean;
}

/**
 * The work now, then its newest state after each progress, until it has ended or is gone. A slow reader costs nothing and
 * misses only outdated values. A hand-written iterator: `return` ends a waiting `next`, which a generator cannot do.
 */
export function watchProgress<Work>(
  notifications: Notifications,
  { channel, uid, read, isOpen }: WatchedWork<Work>,
): AsyncIterableIterator<Work> {
  let isDirty = true;
  let hasEnded = false;
  let wake: (() => void) | undefined;

  const touch = (): void => {
    isDirty = true;
    wake?.();
  };
  const stopListening = notifications.listen(channel, (payload) => {
    if (payload === null || payload === uid) touch();
  });
  const rereading = setInterval(touch, REREAD_MS);
  rereading.unref();

  function end(): IteratorReturnResult<undefined> {
    hasEnded = true;
    stopListening();
    clearInterval(rereading);
    wake?.();
    return { done: true, value: undefined };
  }

  return {
    async next() {
      while (!hasEnded && !isDirty) await new Promise<void>((resolve) => (wake = resolve));
      if (hasEnded) return end();
      isDirty = false;
      const found = await read().catch((error: unknown) => {
        if (error instanceof NotFoundError) return undefined;
        throw error;
      });
      if (!found) return end();
      // The last value was given; the next call ends.
      if (!isOpen(found)) end();
      return { done: false, value: found };
    },
    async return() {
      return end();
    },
    async throw(error: unknown) {
      end();
      throw error;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
