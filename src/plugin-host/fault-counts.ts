/** Counts in memory how often the code of plugins failed or was late when a hook was called. */

/** Code that a plugin has registered for a hook. */
export interface Callee {
  readonly plugin: string;
  readonly hook: string;
}

export interface HookFaults extends Callee {
  readonly failed: number;
  readonly late: number;
}

export class FaultCounts {
  #counts = new Map<string, HookFaults>();

  add({ plugin, hook, failed, late }: HookFaults): void {
    const key = `${plugin} ${hook}`;
    const known = this.#counts.get(key) ?? { failed: 0, late: 0 };
    this.#counts.set(key, { plugin, hook, failed: known.failed + failed, late: known.late + late });
  }

  /** What was counted since this was last called. */
  take(): readonly HookFaults[] {
    const taken = [...this.#counts.values()];
    this.#counts = new Map();
    return taken;
  }
}
