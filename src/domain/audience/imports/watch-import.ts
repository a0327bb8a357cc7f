/** Follows an import across all processes: by LISTEN/NOTIFY, and by reading again now and then. */
import type { Notifications } from '../../../db/listen.ts';
import { NotFoundError } from '../../../lib/errors.ts';
import type { Context } from '../../context.ts';
import { IMPORT_CHANNEL, isOpen, type ListImport } from './list-import.ts';
import { findOwnedImport } from './find-owned-import.ts';

/** A notification can be lost while a connection is made: watchers see a change this late at most. */
const REREAD_MS = 5_000;

/**
 * The import now, then its newest state after each progress, until it has ended or is gone. A slow reader costs nothing and
 * misses only outdated values. A hand-written iterator: `return` ends a waiting `next`, which a generator cannot do.
 */
export function watchImport(
  ctx: Context,
  notifications: Notifications,
  uid: string,
): AsyncIterableIterator<ListImport> {
  let isDirty = true;
  let hasEnded = false;
  let wake: (() => void) | undefined;

  const touch = (): void => {
    isDirty = true;
    wake?.();
  };
  const stopListening = notifications.listen(IMPORT_CHANNEL, (payload) => {
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
      const found = await findOwnedImport(ctx, uid).catch((error: unknown) => {
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
