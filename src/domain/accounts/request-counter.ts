/**
 * Counts requests against a limit, over all processes of the installation, in windows of the database (`db/rate-windows`). Each
 * process has at most one statement under way for all its keys: keys that come meanwhile go with the next one. A request waits
 * for that statement, except where its window is known to be used up, and where the limit is so high that a few requests reported
 * later are less than 1 % of it.
 */
import type { Database } from '../../db/database.ts';
import { countInWindows } from '../../db/rate-windows.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import type { RateLimit } from '../../lib/rate-limit.ts';

/** The count that a request is told. */
export interface Counted {
  readonly isAllowed: boolean;
  readonly remaining: number;
  readonly resetSeconds: number;
}

/** With four processes, each late by this share of the limit, the count is wrong by 1 % at most. */
const LATE_SHARE = 1 / 400;
/** Windows in memory; others are read again. */
const WINDOWS_MAX = 50_000;

interface Window {
  used: number;
  /** Let in, and not reported to the database yet. */
  late: number;
  endsAtMs: number;
}

interface Waiting {
  readonly limit: RateLimit;
  readonly waiters: ((counted: Counted) => void)[];
  late: number;
}

/** The counter of one process. When the database does not answer, requests are let through. */
export class RequestCounter {
  readonly #database: Database;
  readonly #log: Log;
  readonly #windows = new Map<string, Window>();
  #waiting = new Map<string, Waiting>();
  #isReporting = false;

  constructor({ database, log }: { readonly database: Database; readonly log: Log }) {
    this.#database = database;
    this.#log = log;
  }

  async count(key: string, limit: RateLimit): Promise<Counted> {
    const window = this.#windows.get(key);
    const isRunning = window !== undefined && window.endsAtMs > performance.now();
    if (isRunning && window.used >= limit.requests) return countedOf(window, limit, false);
    if (isRunning && window.late + 1 <= limit.requests * LATE_SHARE && window.used + window.late < limit.requests) {
      window.late++;
      this.#ask(key, limit).late++;
      return countedOf({ ...window, used: window.used + window.late }, limit, true);
    }
    return new Promise((answer) => void this.#ask(key, limit).waiters.push(answer));
  }

  #ask(key: string, limit: RateLimit): Waiting {
    const asked = this.#waiting.get(key) ?? { limit, waiters: [], late: 0 };
    this.#waiting.set(key, asked);
    if (!this.#isReporting) void this.#reportAll();
    return asked;
  }

  async #reportAll(): Promise<void> {
    this.#isReporting = true;
    // Requests of the same turn of the event loop go together.
    await Promise.resolve();
    while (this.#waiting.size > 0) {
      const batch = this.#waiting;
      this.#waiting = new Map();
      await this.#report(batch).catch((error: unknown) => {
        this.#log.warn('requests.not_counted', { message: messageOf(error) });
        for (const { waiters, limit } of batch.values())
          for (const answer of waiters) answer({ isAllowed: true, remaining: limit.requests, resetSeconds: 0 });
      });
    }
    this.#isReporting = false;
  }

  async #report(batch: ReadonlyMap<string, Waiting>): Promise<void> {
    const askedAtMs = performance.now();
    const counts = [...batch].map(([key, { limit, waiters, late }]) => ({
      ...{ key, seconds: limit.windowSeconds, n: waiters.length + late },
    }));
    for (const { key, used, endsInSeconds } of await countInWindows(this.#database, counts)) {
      // Late ones are reported with the next statement.
      const late = this.#waiting.get(key)?.late ?? 0;
      const window = { used, late, endsAtMs: askedAtMs + endsInSeconds * 1_000 };
      this.#remember(key, window);
      const { waiters, limit } = batch.get(key) ?? { waiters: [], limit: { requests: 0 } };
      // Those that were let in before are included in what was used; of the others as many as fit.
      for (const [place, answer] of waiters.entries()) {
        const nth = window.used - waiters.length + place + 1;
        answer(countedOf({ ...window, used: nth }, limit, nth <= limit.requests));
      }
    }
  }

  #remember(key: string, window: Window): void {
    this.#windows.delete(key);
    this.#windows.set(key, window);
    if (this.#windows.size <= WINDOWS_MAX) return;
    const [oldest] = this.#windows.keys();
    if (oldest !== undefined) this.#windows.delete(oldest);
  }
}

function countedOf(window: Window, { requests }: Pick<RateLimit, 'requests'>, isAllowed: boolean): Counted {
  return {
    isAllowed,
    remaining: Math.max(0, requests - window.used),
    resetSeconds: Math.max(0, Math.ceil((window.endsAtMs - performance.now()) / 1_000)),
  };
}
