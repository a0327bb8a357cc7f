/** At most so many per time and key: limits log lines and rows that strangers can cause. */
export interface Quota {
  /** How many were left out since the last one that was let through; undefined: this one is left out, too. */
  take(key: string): number | undefined;
}

export interface QuotaOptions {
  readonly max: number;
  readonly windowMs: number;
  /** Keys that are remembered; a new one replaces the oldest. */
  readonly keysMax: number;
}

interface Window {
  readonly endsAtMs: number;
  taken: number;
  leftOut: number;
}

/** A quota of this process. */
export function createQuota({ max, windowMs, keysMax }: QuotaOptions): Quota {
  const windows = new Map<string, Window>();

  function begin(key: string, now: number): Window {
    const leftOut = windows.get(key)?.leftOut ?? 0;
    windows.delete(key);
    const window = { endsAtMs: now + windowMs, taken: 0, leftOut };
    windows.set(key, window);
    const [oldest] = windows.size > keysMax ? windows.keys() : [];
    if (oldest !== undefined) windows.delete(oldest);
    return window;
  }

  return {
    take(key) {
      const now = performance.now();
      const known = windows.get(key);
      const window = known && known.endsAtMs > now ? known : begin(key, now);
      if (window.taken >= max) {
        window.leftOut += 1;
        return undefined;
      }
      window.taken += 1;
      const { leftOut } = window;
      window.leftOut = 0;
      return leftOut;
    },
  };
}
