/** The hooks as Mailwright itself calls them: as plugins do, and with the owner of each entry. */
import type { HookCalls, RegistryHooks } from '../plugin-api/index.ts';

export interface OwnedEntry<Value> {
  /** `vendor/name` of the plugin that has added it. */
  readonly plugin: string;
  readonly value: Value;
}

export interface ProductHooks extends HookCalls {
  /** As `collect`, with the plugin that has added each entry. The list is the same object until plugins go live or are taken back. */
  owned<Name extends keyof RegistryHooks>(name: Name): readonly OwnedEntry<RegistryHooks[Name]>[];
  /**
   * Calls a function of an entry of this hook. Rejects with what it throws, or when it takes longer than this; both are counted as faults
   * of the plugin.
   */
  callContained<T>(
    callee: { readonly plugin: string; readonly hook: string },
    act: () => T | Promise<T>,
    msMax: number,
  ): Promise<T>;
  /** Called each time after plugins have gone live or were taken back; returns how to end that. */
  onChange(listener: () => void): () => void;
}
