/** Asks a program again and again, and knows how long it did not answer. */
import { setTimeout as sleep } from 'node:timers/promises';
import { onBusyMachine } from './busy-machine.ts';

const ASK_MS = 50;
/** An answer that comes later is none. */
const ANSWER_MS_MAX = onBusyMachine(1_000);

export interface Outages {
  /** The longest time without an answer since the last call, in seconds; a time that still lasts counts. */
  longest(): number;
  end(): Promise<void>;
}

/** Begins asking. */
export function watchOutages(baseUrl: string): Outages {
  let isOver = false;
  let answeredAt = performance.now();
  let longestMs = 0;
  const asking = (async () => {
    while (!isOver) {
      const signal = AbortSignal.timeout(ANSWER_MS_MAX);
      const answers = await fetch(`${baseUrl}/healthz`, { signal }).then(
        ({ ok }) => ok,
        () => false,
      );
      if (answers) {
        longestMs = Math.max(longestMs, performance.now() - answeredAt);
        answeredAt = performance.now();
      }
      await sleep(ASK_MS);
    }
  })();
  return {
    longest() {
      const seconds = Math.max(longestMs, performance.now() - answeredAt) / 1_000;
      longestMs = 0;
      return seconds;
    },
    async end() {
      isOver = true;
      await asking;
    },
  };
}
