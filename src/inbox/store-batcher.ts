/**
 * Group commit: while one batch is being stored, the next one gathers. Nobody waits for a timer, and under load one statement
 * stores the messages of many connections.
 */

/** One statement's share: some megabytes at the size of ordinary mails. */
const BATCH_SIZE_MAX = 100;

interface Waiting<Item> {
  readonly item: Item;
  resolve(): void;
  reject(error: unknown): void;
}

export interface Batcher<Item> {
  /** Resolves when the item is stored, rejects when its batch failed. */
  add(item: Item): Promise<void>;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
}

/** Makes a batcher over a function that stores many items at once. */
export function createBatcher<Item>(storeBatch: (items: readonly Item[]) => Promise<void>): Batcher<Item> {
  const waiting: Waiting<Item>[] = [];
  let running: Promise<void> | undefined;

  const run = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, BATCH_SIZE_MAX);
      try {
        await storeBatch(batch.map(({ item }) => item));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    running = undefined;
  };
  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        waiting.push({ item, resolve, reject });
        // items of the same turn of the event loop go into the same batch
        running ??= new Promise<void>((resume) => setImmediate(resume)).then(run);
      }),
    idle: async () => running,
  };
}
