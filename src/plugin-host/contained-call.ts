/** Calls code of plugins so that its faults stay its own: they are logged with the plugin's name and counted. */
import { messageOf } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import type { Callee, FaultCounts } from './fault-counts.ts';

/** An asynchronous listener is not waited for any longer. */
const ASYNC_MS_MAX = 5_000;
/** The caller needs the result of a behavior, so it has more time. But it may hold one of the few places for jobs meanwhile. */
const BEHAVIOR_MS_MAX = 60_000;
/** Synchronous code cannot be stopped, and nothing else runs in this process meanwhile. */
const SYNC_MS_MAX = 250;
/** A message may be of any length. */
const MESSAGE_CHARACTERS_MAX = 1_000;

export class ContainedCalls {
  readonly #log: Log;
  readonly #faults: FaultCounts;

  constructor(log: Log, faults: FaultCounts) {
    this.#log = log;
    this.#faults = faults;
  }

  /** Returns what `act` returns; undefined if it throws. */
  call<T>(callee: Callee, act: () => T): T | undefined {
    const startedAt = performance.now();
    try {
      return act();
    } catch (error) {
      this.#failed(callee, error);
      return undefined;
    } finally {
      const milliseconds = performance.now() - startedAt;
      if (milliseconds > SYNC_MS_MAX) this.#late(callee, { milliseconds: Math.round(milliseconds), isCutOff: false });
    }
  }

  /** Waits for the end of a listener, at most five seconds. Never rejects. */
  async wait(callee: Callee, promise: Promise<unknown>): Promise<void> {
    const ended = promise.then(
      () => true,
      (error: unknown) => {
        this.#failed(callee, error);
        return true;
      },
    );
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), ASYNC_MS_MAX);
    });
    const hasEnded = await Promise.race([ended, late]);
    clearTimeout(timer);
    if (!hasEnded) this.#late(callee, { milliseconds: ASYNC_MS_MAX, isCutOff: true });
  }

  /** Waits for the result, of a behavior at most a minute. Rejects with what it throws. */
  async result<T>(callee: Callee, act: () => T | Promise<T>, msMax = BEHAVIOR_MS_MAX): Promise<T> {
    const isLate = Symbol('late');
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<typeof isLate>((resolve) => {
      timer = setTimeout(() => resolve(isLate), msMax);
    });
    try {
      const result = await Promise.race([act(), late]);
      if (result !== isLate) return result;
    } catch (error) {
      this.#faults.add({ plugin: callee.plugin, hook: callee.hook, failed: 1, late: 0 });
      throw error;
    } finally {
      clearTimeout(timer);
    }
    this.#late(callee, { milliseconds: msMax, isCutOff: true });
    throw new Error(`It did not end within ${msMax / 1_000} seconds.`);
  }

  #failed({ plugin, hook }: Callee, error: unknown): void {
    this.#faults.add({ plugin, hook, failed: 1, late: 0 });
    this.#log.error('hook.listener_failed', { plugin, hook, message: safeMessageOf(error) });
  }

  #late({ plugin, hook }: Callee, how: { readonly milliseconds: number; readonly isCutOff: boolean }): void {
    this.#faults.add({ plugin, hook, failed: 0, late: 1 });
    this.#log.warn('hook.listener_late', { plugin, hook, ...how });
  }
}

/** A plugin may throw anything, also what cannot be made a text. */
export function safeMessageOf(error: unknown): string {
  try {
    return messageOf(error).slice(0, MESSAGE_CHARACTERS_MAX);
  } catch {
    return 'What was thrown has no readable message.';
  }
}
