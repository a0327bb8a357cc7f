/** Counts the messages that a server accepts, in rounds: each is about as long as the messages in flight need. */
import type { FairPermits } from '../fair-permits.ts';

/** Long enough to count hundreds of messages of a fast server. */
const ROUND_MS = 250;

export class SendingRound {
  readonly #permits: FairPermits;
  #accepted = 0;
  #from = performance.now();
  /** As many as may be in flight: those that were when it began have their outcome by then. */
  #wanted = Infinity;

  constructor(permits: FairPermits) {
    this.#permits = permits;
  }

  begin(): void {
    this.#accepted = 0;
    this.#from = performance.now();
    this.#wanted = this.#permits.capacity;
    this.#permits.takeWasFull();
  }

  accepted(): void {
    this.#accepted += 1;
  }

  /** What it saw, when it is over by then; the next one begins. */
  endedBy(at: number): { at: number; rate: number; wasFull: boolean } | undefined {
    const ms = at - this.#from;
    if (this.#accepted < this.#wanted || ms < ROUND_MS) return undefined;
    const seen = { at, rate: (this.#accepted * 1_000) / ms, wasFull: this.#permits.takeWasFull() };
    this.begin();
    return seen;
  }
}
