/** How a process leaves a server alone that it could not use. */

/** Operators look at a server that is down; this is how long after its repair mail flows again at the latest. */
const TROUBLE_WAIT_SECONDS_MAX = 60;

/** How long to leave a server alone that could not be used: doubling from one second while nothing gets through. */
export class Trouble {
  #waitSeconds = 0;
  #notedAt = 0;

  /** Notes that the server could not be used, and answers when to come back. */
  note(): number {
    // Several messages in flight fail together when one connection breaks: that is one trouble.
    const isNew = performance.now() - this.#notedAt > (this.#waitSeconds * 1_000) / 2;
    if (isNew) {
      this.#waitSeconds = Math.min(Math.max(1, this.#waitSeconds * 2), TROUBLE_WAIT_SECONDS_MAX);
      this.#notedAt = performance.now();
    }
    return this.#waitSeconds;
  }

  /** Seconds for which the server is still to be left alone; 0: try. */
  remainingSeconds(): number {
    return Math.max(0, this.#waitSeconds - (performance.now() - this.#notedAt) / 1_000);
  }

  /** A message got through. */
  clear(): void {
    this.#waitSeconds = 0;
  }
}
