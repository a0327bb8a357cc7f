/**
 * Calls code of plugins so that its faults stay its own: they are logged with the plugin's name and counted. Mailwright's own code reaches
 * this by `ctx.hooks.contained`: whatever calls a function that a plugin has handed over uses `call`, `callOrThrow` or `run`.
 *
 *   const rows = await ctx.hooks.contained.run({ plugin, hook: 'job' }, () => entry.value.run(payload), { timeoutMs: 60_000 });
 */
import { messageOf } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import type { Callee, FaultCounts } from './fault-counts.ts';
import { asPlugin } from './running-plugin.ts';

/** An asynchronous listener is not waited for any longer. */
const ASYNC_MS_MAX = 5_000;
/** A listener whose former call was cut off and still runs: it would hold up all others for five seconds with each event. */
const HANGING_MS_MAX = 250;
/** The caller needs the result of a behavior, so it has more time. But it may hold one of the few places for jobs meanwhile. */
const BEHAVIOR_MS_MAX = 60_000;
/** Synchronous code cannot be stopped, and nothing else runs in this process meanwhile. */
const SYNC_MS_MAX = 250;
/** A message may be of any length. */
const MESSAGE_CHARACTERS_MAX = 1_000;

export interface CallLimit {
  /** How long the result is waited for. Code that goes on after that is not stopped. */
  readonly timeoutMs: number;
}

/** A plugin's code has thrown, or was not ready in time. The message names the plugin. */
export class PluginFailed extends Error {
  readonly plugin: string;
  /** Whether it was not ready in time. */
  readonly isLate: boolean;

  constructor({ plugin, hook }: Callee, error: unknown) {
    super(`Plugin "${plugin}" failed in "${hook}": ${safeMessageOf(error)}`, { cause: error });
    this.name = 'PluginFailed';
    this.plugin = plugin;
    this.isLate = error instanceof NotInTime;
  }
}

export class ContainedCalls {
  readonly #log: Log;
  readonly #faults: FaultCounts;
  /** How many calls of a listener were cut off and still run. */
  readonly #hanging = new Map<string, number>();

  constructor(log: Log, faults: FaultCounts) {
    this.#log = log;
    this.#faults = faults;
  }

  /** For synchronous code. Returns what `act` returns; undefined if it throws. */
  call<T>(callee: Callee, act: () => T): T | undefined {
    const startedAt = performance.now();
    try {
      return asPlugin(callee.plugin, act);
    } catch (error) {
      this.#failed(callee, error);
      return undefined;
    } finally {
      this.#checkTime(callee, startedAt);
    }
  }

  /** As `call`, but throws PluginFailed if the code throws. */
  callOrThrow<T>(callee: Callee, act: () => T): T {
    const startedAt = performance.now();
    try {
      return asPlugin(callee.plugin, act);
    } catch (error) {
      this.#failed(callee, error);
      throw new PluginFailed(callee, error);
    } finally {
      this.#checkTime(callee, startedAt);
    }
  }

  /** For code that may be asynchronous: waits for its result. Rejects with PluginFailed if it throws or is not ready in time. */
  async run<T>(callee: Callee, act: () => T | PromiseLike<T>, limit: CallLimit): Promise<T> {
    try {
      return await this.#inTime(callee, act, limit);
    } catch (error) {
      if (!(error instanceof NotInTime)) this.#failed(callee, error);
      throw new PluginFailed(callee, error);
    }
  }

  /** Waits for the end of a listener, at most five seconds; less while a former call of it hangs. Never rejects. */
  async wait(callee: Callee, promise: Promise<unknown>): Promise<void> {
    const ended = promise.then(
      () => true,
      (error: unknown) => {
        this.#failed(callee, error);
        return true;
      },
    );
    const key = `${callee.plugin} ${callee.hook}`;
    const milliseconds = this.#hanging.has(key) ? HANGING_MS_MAX : ASYNC_MS_MAX;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), milliseconds);
    });
    const hasEnded = await Promise.race([ended, late]);
    clearTimeout(timer);
    if (hasEnded) return;
    this.#late(callee, { milliseconds, isCutOff: true });
    this.#countHanging(key, 1);
    void ended.then(() => this.#countHanging(key, -1));
  }

  #countHanging(key: string, by: number): void {
    const count = (this.#hanging.get(key) ?? 0) + by;
    if (count > 0) this.#hanging.set(key, count);
    else this.#hanging.delete(key);
  }

  /** Waits for the result, of a behavior at most a minute. Rejects with what it throws. */
  async result<T>(callee: Callee, act: () => T | Promise<T>, timeoutMs = BEHAVIOR_MS_MAX): Promise<T> {
    try {
      return await this.#inTime(callee, act, { timeoutMs });
    } catch (error) {
      if (!(error instanceof NotInTime)) this.#faults.add({ ...named(callee), failed: 1, late: 0 });
      throw error;
    }
  }

  async #inTime<T>(callee: Callee, act: () => T | PromiseLike<T>, { timeoutMs }: CallLimit): Promise<T> {
    const isLate = Symbol('late');
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<typeof isLate>((resolve) => {
      timer = setTimeout(() => resolve(isLate), timeoutMs);
    });
    try {
      const startedAt = performance.now();
      const running = asPlugin(callee.plugin, act);
      this.#checkTime(callee, startedAt);
      const result = await Promise.race([running, late]);
      if (result !== isLate) return result;
    } finally {
      clearTimeout(timer);
    }
    this.#late(callee, { milliseconds: timeoutMs, isCutOff: true });
    throw new NotInTime(timeoutMs);
  }

  #checkTime(callee: Callee, startedAt: number): void {
    const milliseconds = performance.now() - startedAt;
    if (milliseconds > SYNC_MS_MAX) this.#late(callee, { milliseconds: Math.round(milliseconds), isCutOff: false });
  }

  #failed(callee: Callee, error: unknown): void {
    this.#faults.add({ ...named(callee), failed: 1, late: 0 });
    this.#log.error('hook.listener_failed', { ...named(callee), message: safeMessageOf(error) });
  }

  #late(callee: Callee, how: { readonly milliseconds: number; readonly isCutOff: boolean }): void {
    this.#faults.add({ ...named(callee), failed: 0, late: 1 });
    this.#log.warn('hook.listener_late', { ...named(callee), ...how });
  }
}

class NotInTime extends Error {
  constructor(timeoutMs: number) {
    super(`It did not end within ${timeoutMs / 1_000} seconds.`);
  }
}

/** A callee may be a whole entry. */
function named({ plugin, hook }: Callee): Callee {
  return { plugin, hook };
}

/** A plugin may throw anything, also what cannot be made a text. */
export function safeMessageOf(error: unknown): string {
  try {
    return messageOf(error).slice(0, MESSAGE_CHARACTERS_MAX);
  } catch {
    return 'What was thrown has no readable message.';
  }
}
