/**
 * A reader must arrive, whether or not we could write it down. Thousands wait at the same time, so there is one clock
 * for all of them.
 */
import { messageOf } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';

export interface AnswerDeadline {
  /**
   * Calls `answer` once: when `recorded` resolves, when it fails (which is logged), or when it takes too long. It is told
   * the headers that say so: none when the tracking event is recorded.
   */
  wait(recorded: Promise<void>, answer: (headers: readonly string[]) => void): void;
}

/** On an answer that came before its tracking event was recorded, and maybe instead of it: for monitoring. */
const NOT_RECORDED = ['Mailwright-Recorded', 'no'] as const;

/** A database that restarts is waited for; a reader is not kept longer than a slow page would. */
const ANSWER_DEADLINE_MS = 2_000;
const TICK_MS = 250;

interface Waiting {
  readonly until: number;
  /** Undefined when it was given. */
  answer: ((headers: readonly string[]) => void) | undefined;
}

/** `log` gets what could not be recorded. */
export function createAnswerDeadline(log: Log): AnswerDeadline {
  // In the order in which they came, so the first ones reach their deadline first.
  let waiting: Waiting[] = [];
  let timer: NodeJS.Timeout | undefined;

  function tick(): void {
    const now = performance.now();
    for (const one of waiting) {
      if (one.until > now) break;
      give(one, NOT_RECORDED);
    }
    waiting = waiting.filter(({ answer }) => answer !== undefined);
    if (waiting.length > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  return {
    wait(recorded, answer) {
      const one: Waiting = { until: performance.now() + ANSWER_DEADLINE_MS, answer };
      waiting.push(one);
      timer ??= setInterval(tick, TICK_MS).unref();
      recorded.then(
        () => give(one, []),
        (error: unknown) => {
          log.error('tracking.event_lost', { message: messageOf(error) });
          give(one, NOT_RECORDED);
        },
      );
    },
  };
}

function give(one: Waiting, headers: readonly string[]): void {
  const { answer } = one;
  one.answer = undefined;
  answer?.(headers);
}
