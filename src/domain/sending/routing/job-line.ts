/**
 * A queue of jobs that wait for one pace: if all returned when there is a little to take, a thousand jobs would ask, once a
 * second, for the ten messages of that second.
 */

/** If so many wait that the next place is later than this after the soonest time, the queue starts again from there. */
const LINE_SECONDS_MAX = 60;

export class JobLine {
  #lastAt = 0;

  /** Seconds until the job's own place; given after how many there is something to take: two places in that time. */
  placeInSeconds(waitSeconds: number): number {
    const now = performance.now() / 1_000;
    const soonest = now + waitSeconds;
    const next = Math.max(soonest, this.#lastAt + waitSeconds / 2);
    this.#lastAt = next - soonest > LINE_SECONDS_MAX ? soonest : next;
    return this.#lastAt - now;
  }
}
