/** Work that had to be stopped is not run again at once: repeated requests get the fault without a run. */
const FAILED_MS = 60_000;
const FAILED_MAX = 1_000;

/** Faults of work that was stopped, by a digest of the work, for a minute. */
export class FailedTemplates {
  readonly #faults = new Map<string, { readonly until: number; readonly fault: string }>();

  add(digest: string, fault: string): void {
    this.#faults.set(digest, { until: Date.now() + FAILED_MS, fault });
    const [oldest] = this.#faults.keys();
    if (this.#faults.size > FAILED_MAX && oldest !== undefined) this.#faults.delete(oldest);
  }

  /** The fault, if there is one. `digest` is called only when there are faults, since making a digest takes time. */
  faultOf(digest: () => string): string | undefined {
    if (this.#faults.size === 0) return undefined;
    const entry = this.#faults.get(digest());
    return entry !== undefined && entry.until > Date.now() ? entry.fault : undefined;
  }
}
