/**
 * Lets a few pass at a time: for work that is dear to something shared (the database), so that one caller's many
 * requests wait for each other and not everybody for them. In one process; who waits holds nothing.
 */
export interface GateOptions {
  /** Passing at once under one key. */
  readonly runningMax: number;
  /** Passing at once under all keys together. */
  readonly totalMax: number;
  /** Waiting under one key; who comes then is refused. */
  readonly waitingMax: number;
}

export interface Gate {
  /** Runs `work` when it is its turn; answers undefined, and runs nothing, when too many wait already. */
  pass<T>(key: string, work: () => Promise<T>): Promise<{ readonly result: T } | undefined>;
}

interface Waiting {
  readonly key: string;
  readonly begin: () => void;
}

/** A gate of its own. */
export function createGate({ runningMax, totalMax, waitingMax }: GateOptions): Gate {
  const running = new Map<string, number>();
  const queue: Waiting[] = [];
  let total = 0;
  const count = (key: string) => running.get(key) ?? 0;
  const isFree = (key: string) => total < totalMax && count(key) < runningMax;
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
    async pass(key, work) {
      if (isFree(key)) enter(key);
      else if (queue.filter((one) => one.key === key).length >= waitingMax) return undefined;
      else await new Promise<void>((begin) => queue.push({ key, begin }));
      try {
        return { result: await work() };
      } finally {
        leave(key);
      }
    },
  };
}
