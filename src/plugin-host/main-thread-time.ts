/** How long the main thread has been at the same thing: by the clock, and without the time in which the machine gave it no processor. */
import { readFileSync } from 'node:fs';

export interface Lasted {
  readonly byClockMs: number;
  /** What code can be blamed for. */
  readonly ownMs: number;
}

export const NO_TIME: Lasted = { byClockMs: 0, ownMs: 0 };

/** A longer pause between two looks was none of the main thread's: the machine slept, or gave the one who looks no processor. */
const GAP_MS_MAX = 200;
/** Of the main thread of this process: nanoseconds on a processor, nanoseconds that it waited for one, and turns. Linux only. */
const SCHEDULED_FILE = '/proc/self/schedstat';
const NANOSECONDS_PER_MS = 1_000_000;

/**
 * One look later. `waitedMs`: for how long the main thread waited for a processor, of waits that ended since the look before; a wait is known
 * only when it is over, so it may be longer than the time between two looks.
 */
export function lastedLonger(before: Lasted, gapMs: number, waitedMs: number): Lasted {
  return {
    byClockMs: before.byClockMs + Math.min(gapMs, GAP_MS_MAX),
    ownMs: Math.max(0, before.ownMs + Math.min(gapMs - waitedMs, GAP_MS_MAX)),
  };
}

let knownMs = 0;

/** How long the main thread has waited for a processor since the process began, as far as the system says so. May be asked in any thread. */
export function waitedForProcessorMs(): number {
  try {
    const waited = Number(readFileSync(SCHEDULED_FILE, 'utf8').split(' ')[1]) / NANOSECONDS_PER_MS;
    if (waited > knownMs) knownMs = waited;
  } catch {
    // Not on this system, or no file can be opened at the moment: what is known stays.
  }
  return knownMs;
}
