/**
 * Group commit: single items come in, batches are written, and each caller hears when its own item is safe. While one
 * batch is being written the next one gathers, so batches grow with the load and a lone item hardly waits.
 */
export interface GroupCommit<Item> {
  /** Resolves when the batch with this item is written; rejects when that failed or too many wait. */
  add(item: Item): Promise<void>;
  /** Writes what waits; nothing is taken afterwards. */
  close(): Promise<void>;
}

export interface GroupCommitOptions<Item> {
  readonly batchMax: number;
  /** How long the first item of an idle time waits for company. */
  readonly waitMs: number;
  /** Items that may wait, so that a database that is away costs bounded memory. */
  readonly waitingMax: number;
  readonly write: (batch: readonly Item[]) => Promise<void>;
}

interface Waiting<Item> {
  readonly item: Item;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export function createGroupCommit<Item>(options: GroupCommitOptions<Item>): GroupCommit<Item> {
  let waiting: Waiting<Item>[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;
  let closed = false;

  function start(): void {
    clearTimeout(timer);
    timer = undefined;
    writing ??= writeAll().finally(() => (writing = undefined));
  }

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, options.batchMax);
      waiting = waiting.slice(options.batchMax);
      await options.write(batch.map(({ item }) => item)).then(
        () => batch.forEach(({ resolve }) => resolve()),
        (error: unknown) => batch.forEach(({ reject }) => reject(error)),
      );
    }
  }

  return {
    add(item) {
      if (closed) return Promise.reject(new Error('Closing: nothing more is taken.'));
      if (waiting.length >= options.waitingMax) return Promise.reject(new Error('Too many items wait to be written.'));
      const written = new Promise<void>((resolve, reject) => waiting.push({ item, resolve, reject }));
      if (waiting.length >= options.batchMax) start();
      else if (!writing) timer ??= setTimeout(start, options.waitMs);
      return written;
    },
    async close() {
      closed = true;
      start();
      await writing;
    },
  };
}
