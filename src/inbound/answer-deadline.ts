/**
 * A reader gets the answer even if the event cannot be recorded in time. Thousands wait at the same time, so one timer serves all
 * of them.
 */
import { messageOf } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';

export interface AnswerDeadline {
  /**
   * Calls `answer` once: when `recorded` resolves, when it fails (which is logged), or when it takes too long. `answer` gets
   * headers that say so; none when the tracking event is recorded.
   */
  wait(recorded: Promise<void>, answer: (headers: readonly string[]) => void): void;
}

/** On an answer before its tracking event was recorded, for monitoring; the event may also be lost. */
const NOT_RECORDED = ['Mailwright-Recorded', 'no'] as const;

/** Long enough for a database that restarts, and no longer than a slow page would take. */
const ANSWER_DEADLINE_MS = 2_000;
const TICK_MS = 250;

interface Waiting {
  readonly until: number;
  /** Undefined when the answer was given. */
  answer: ((headers: readonly string[]) => void) | undefined;
}

/** `log` gets what could not be recorded. */
export function createAnswerDeadline(log: Log): AnswerDeadline {
  // In the order of arrival, so the first ones reach their deadline first.
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
