/** What of the plugins of this process is live and cannot be used, such as a GraphQL part that does not fit the schema any more. */

export class LeftOut {
  readonly #reasons = new Map<string, readonly string[]>();

  note(plugin: string, reason: string): void {
    this.#reasons.set(plugin, [...(this.#reasons.get(plugin) ?? []), reason]);
  }

  /** In sentences; undefined: nothing. */
  of(plugin: string): string | undefined {
    return this.#reasons.get(plugin)?.join(' ');
  }

  /** They go live anew, or are taken back. */
  clear(...plugins: readonly string[]): void {
    for (const plugin of plugins) this.#reasons.delete(plugin);
  }
}
