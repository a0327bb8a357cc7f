/**
 * A concurrency limit: so many pieces of work run at once, the others wait in their order. For work that is expensive for something
 * shared (the database, the processor), so that one caller's many requests wait for each other and not everybody for them. In one
 * process; who waits holds nothing.
 */
export interface ConcurrencyLimitOptions {
  /** Running at once. */
  readonly runningMax: number;
  /** Of these under one key; absent: all. */
  readonly runningPerKeyMax?: number;
  /** Waiting under one key; absent: any number. */
  readonly waitingPerKeyMax?: number;
  /** What is thrown for one that would wait behind too many. */
  readonly refuse?: () => Error;
}

export interface ConcurrencyLimit {
  /** Runs the work as soon as the limit allows it. Throws what `refuse` returns, and runs nothing, when too many wait under the key. */
  run<T>(work: () => Promise<T>, key?: string): Promise<T>;
  /** Whether `run` would refuse work of this key now. */
  isFull(key: string): boolean;
}

interface Waiting {
  readonly key: string;
  readonly begin: () => void;
}

/** A limit of its own. */
export function createConcurrencyLimit({
  runningMax,
  runningPerKeyMax = runningMax,
  waitingPerKeyMax = Infinity,
  refuse = () => new Error('Too many requests are waiting.'),
}: ConcurrencyLimitOptions): ConcurrencyLimit {
  const running = new Map<string, number>();
  const queue: Waiting[] = [];
  let total = 0;
  const count = (key: string) => running.get(key) ?? 0;
  const isFree = (key: string) => total < runningMax && count(key) < runningPerKeyMax;
  const isFull = (key: string) =>
    !isFree(key) &&
    queue.length >= waitingPerKeyMax &&
    queue.filter((one) => one.key === key).length >= waitingPerKeyMax;
  const enter = (key: string) => {
    total += 1;
    running.set(key, count(key) + 1);
  };
  const leave = (key: string) => {
    total -= 1;
    if (count(key) === 1) running.delete(key);
    else running.set(key, count(key) - 1);
    // The first that may: a key that is full lets those of others pass.
    const next = queue.findIndex((one) => isFree(one.key));
    const [waiting] = next < 0 ? [] : queue.splice(next, 1);
    if (!waiting) return;
    enter(waiting.key);
    waiting.begin();
  };
  return {
    async run(work, key = '') {
      if (isFull(key)) throw refuse();
      if (isFree(key)) enter(key);
      else await new Promise<void>((begin) => queue.push({ key, begin }));
      try {
        return await work();
      } finally {
        leave(key);
      }
    },
    isFull,
  };
}
