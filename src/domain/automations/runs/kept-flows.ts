/** What a process keeps of versions that it has read: bounded by their size, as one may have 256 KiB and another has 1. */

/** Values by name; beyond the limit, those that were kept first are dropped. */
export class KeptFlows<Value> {
  readonly #limits: { readonly bytes: number; readonly count: number };
  readonly #kept = new Map<string, { readonly value: Value; readonly bytes: number }>();
  #bytes = 0;

  constructor(limits: { readonly bytes: number; readonly count: number }) {
    this.#limits = limits;
  }

  get(name: string): Value | undefined {
    return this.#kept.get(name)?.value;
  }

  /** One that is larger than the limit by itself is not kept. */
  keep(name: string, value: Value, bytes: number): void {
    this.#drop(name);
    this.#kept.set(name, { value, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.#limits.bytes && this.#kept.size <= this.#limits.count) break;
      this.#drop(oldest);
    }
  }

  #drop(name: string): void {
    this.#bytes -= this.#kept.get(name)?.bytes ?? 0;
    this.#kept.delete(name);
  }
}
