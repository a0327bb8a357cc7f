/** A few at a time, the others in line: for work that would take from everybody what it needs. */
export interface Turns {
  /** Runs the work when it is its turn. Throws what `refuse` gives when too many wait. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

export interface TurnsOptions {
  readonly atOnceMax: number;
  readonly waitingMax: number;
  readonly refuse: () => Error;
}

export function createTurns({ atOnceMax, waitingMax, refuse }: TurnsOptions): Turns {
  let running = 0;
  const waiting: (() => void)[] = [];
  return {
    async run(work) {
      if (waiting.length >= waitingMax) throw refuse();
      // Who ends hands its place to the next in line, so the count stays.
      if (running >= atOnceMax) await new Promise<void>((resume) => waiting.push(resume));
      else running++;
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        if (next) next();
        else running--;
      }
    },
  };
}
