/**
 * Work of a process that is done whenever something was announced, and by a clock, because announcements get lost: one run at a time, and
 * once more if something was announced meanwhile.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export interface WokenLoop {
  /** Something was announced. */
  wake(): void;
  /** Does nothing as long as there is a reason. */
  pause(reason: string): void;
  resume(reason: string): void;
  /** Begins no further run. */
  beginStop(): void;
  /** The same, and waits for the run under way, at most `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

interface Work {
  /** Does what is to do until nothing is left, or until it is stopping. */
  readonly run: (isStopping: () => boolean) => Promise<void>;
  /** Says that a run has failed: it is repeated at the next tick. */
  readonly onFailure: (error: unknown) => void;
  readonly tickMs: number;
  /** However often something is announced, runs begin at most so often. */
  readonly roundMsMin: number;
  readonly pausedFor?: string | undefined;
}

/** Starts it. */
export function startWokenLoop({ run, onFailure, tickMs, roundMsMin, pausedFor }: Work): WokenLoop {
  const reasons = new Set(pausedFor === undefined ? [] : [pausedFor]);
  let isStopping = false;
  let isWanted = false;
  let work: Promise<void> | undefined;
  const isPaused = (): boolean => isStopping || reasons.size > 0;
  /** Never rejects. */
  const runAll = async (): Promise<void> => {
    while (isWanted && !isPaused()) {
      isWanted = false;
      await run(isPaused).catch(onFailure);
      if (!isPaused()) await sleep(roundMsMin);
    }
  };
  const wake = (): void => {
    isWanted = true;
    work ??= runAll().finally(() => (work = undefined));
  };
  const tick = setInterval(wake, tickMs);
  const beginStop = (): void => {
    isStopping = true;
    clearInterval(tick);
  };
  wake();
  return {
    wake,
    pause: (reason) => void reasons.add(reason),
    resume(reason) {
      reasons.delete(reason);
      wake();
    },
    beginStop,
    async stop(graceMs) {
      beginStop();
      const late = new AbortController();
      await Promise.race([work, sleep(graceMs, undefined, { signal: late.signal }).catch(() => undefined)]);
      late.abort();
    },
  };
}
