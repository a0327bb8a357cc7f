/** What had to be stopped is not run again at once: who asks again and again is answered for free. */
const CONDEMNED_MS = 60_000;
const CONDEMNED_MAX = 1_000;

/** Faults of work that was stopped, by a digest of the work, for a minute. */
export class Condemned {
  readonly #faults = new Map<string, { readonly until: number; readonly fault: string }>();

  add(digest: string, fault: string): void {
    this.#faults.set(digest, { until: Date.now() + CONDEMNED_MS, fault });
    const [oldest] = this.#faults.keys();
    if (this.#faults.size > CONDEMNED_MAX && oldest !== undefined) this.#faults.delete(oldest);
  }

  /** The fault, where there is one. `digest` is asked for only then, since making one costs time. */
  faultOf(digest: () => string): string | undefined {
    if (this.#faults.size === 0) return undefined;
    const entry = this.#faults.get(digest());
    return entry !== undefined && entry.until > Date.now() ? entry.fault : undefined;
  }
}
