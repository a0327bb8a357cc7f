/**
 * A concurrency limit: a number of pieces of work run at once, the others wait in order. For work that uses a shared resource
 * (the database, the processor), so that many requests of one caller wait for each other and not for everybody else. Works in one
 * process; waiting work holds nothing.
 */
export interface ConcurrencyLimitOptions {
  /** Running at once. */
  readonly runningMax: number;
  /** Of these under one key; absent: all. */
  readonly runningPerKeyMax?: number;
  /** Waiting under one key; absent: unlimited. */
  readonly waitingPerKeyMax?: number;
  /** Work that has waited for so long is refused; absent: it waits on. */
  readonly waitMsMax?: number;
  /** Makes the error for work that finds too many waiting, or has waited for too long. */
  readonly refuse?: () => Error;
}

export interface ConcurrencyLimit {
  /**
   * Runs the work as soon as the limit allows it. If too many wait under the key, or it has waited for too long, it throws what
   * `refuse` returns and runs nothing.
   */
  run<T>(work: () => Promise<T>, key?: string): Promise<T>;
  /** Whether `run` would refuse work of this key now. */
  isFull(key: string): boolean;
}

interface Waiting {
  readonly key: string;
  readonly begin: () => void;
}

/** A new concurrency limit. */
export function createConcurrencyLimit({
  runningMax,
  runningPerKeyMax = runningMax,
  waitingPerKeyMax = Infinity,
  waitMsMax,
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
    // The first that may run: if a key is at its limit, others pass it.
    const next = queue.findIndex((one) => isFree(one.key));
    const [waiting] = next < 0 ? [] : queue.splice(next, 1);
    if (!waiting) return;
    enter(waiting.key);
    waiting.begin();
  };
  const wait = (key: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { key, begin: resolve };
    queue.push(waiting);
    if (waitMsMax === undefined) return promise;
    const timer = setTimeout(() => {
      const at = queue.indexOf(waiting);
      if (at >= 0) queue.splice(at, 1);
      reject(refuse());
    }, waitMsMax);
    return promise.finally(() => clearTimeout(timer));
  };
  return {
    async run(work, key = '') {
      if (isFull(key)) throw refuse();
      if (isFree(key)) enter(key);
      else await wait(key);
      try {
        return await work();
      } finally {
        leave(key);
      }
    },
    isFull,
  };
}
