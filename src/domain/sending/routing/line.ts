/**
 * Queues of recipients of a group that is held back: they return one after the other. If all returned when the first one may go,
 * every batch of a campaign would lease its people again and put them back.
 */

/** Nobody is put back further than this after the soonest time, so that a recovered group soon has everybody back. */
const LINE_SECONDS_MAX = 600;
/** When a queue is full, recipients are spread over its last part. */
const SPREAD = 0.5;

/** Groups with their own queue; beyond that past queues are dropped, or all of them. */
const GROUPS_MAX = 20_000;

export class Line {
  readonly #lastAt = new Map<string, number>();

  /** Seconds until the next place in the group's queue, not before `soonestSeconds`; `spacingSeconds` from one to the next. */
  place(group: string, soonestSeconds: number, spacingSeconds = 1): number {
    const now = performance.now() / 1_000;
    const soonest = now + Math.max(soonestSeconds, spacingSeconds);
    const next = Math.max(soonest, (this.#lastAt.get(group) ?? 0) + spacingSeconds);
    const last = soonest + LINE_SECONDS_MAX;
    if (next > last) return last - now - Math.random() * SPREAD * LINE_SECONDS_MAX;
    if (this.#lastAt.size >= GROUPS_MAX) this.#prune(now);
    this.#lastAt.set(group, next);
    return next - now;
  }

  #prune(now: number): void {
    for (const [group, at] of this.#lastAt) if (at < now) this.#lastAt.delete(group);
    if (this.#lastAt.size > GROUPS_MAX / 2) this.#lastAt.clear();
  }
}
