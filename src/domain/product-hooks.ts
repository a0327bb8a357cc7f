/** The hooks as Mailwright itself calls them: as plugins do, and with the owner of each entry. */
import type { FilterHooks, HookCalls, RegistryHooks } from '../plugin-api/index.ts';

export interface OwnedEntry<Value> {
  /** `vendor/name` of the plugin that has added it. */
  readonly plugin: string;
  readonly value: Value;
}

/** A function that a plugin has handed over, for the log and the counters: which plugin, and for what. */
export interface PluginFunction {
  readonly plugin: string;
  /** The hook by which it was registered. */
  readonly hook: string;
}

/** Calls functions of plugins. Whatever they do is logged with the plugin's name and counted, and never harms the caller. */
export interface ContainedCalls {
  /** For synchronous code. Returns what `act` returns; undefined if it throws. */
  call<T>(callee: PluginFunction, act: () => T): T | undefined;
  /** As `call`, but throws an error that names the plugin if the code throws. */
  callOrThrow<T>(callee: PluginFunction, act: () => T): T;
  /** Waits for the result. Rejects with an error that names the plugin if the code throws or is not ready in time. */
  run<T>(callee: PluginFunction, act: () => T | PromiseLike<T>, limit: { readonly timeoutMs: number }): Promise<T>;
}

/** Reads what a plugin has returned, which may be anything, and takes from it what may change. What it throws is a fault of the plugin. */
export type FilterCheck<Value> = (returned: unknown, before: Value, plugin: string) => Value;

/** The entries that plugins have added, by hook. */
export interface OwnedEntries {
  owned<Name extends keyof RegistryHooks>(name: Name): readonly OwnedEntry<RegistryHooks[Name]>[];
}

export interface ProductHooks extends HookCalls, OwnedEntries {
  /** Whether the plugin may get data of this customer: it acts for all, or the customer has switched it on. */
  mayActFor(plugin: string, customerUid: string): boolean;
  /** From now on these customers (uids) have switched plugins on, by `vendor/name`. */
  useCustomers(switchedOn: ReadonlyMap<string, ReadonlySet<string>>): void;
  /** Whether a plugin has a callback for it: without one, its value need not be made. */
  isFiltered(name: keyof FilterHooks): boolean;
  /**
   * As `filter`; each callback's result is replaced by what `check` makes of it. When that throws, the value before is used. A value
   * with a `customerUid` is shown only to plugins that may act for this customer.
   */
  filterChecked<Name extends keyof FilterHooks>(
    name: Name,
    value: FilterHooks[Name],
    check: FilterCheck<FilterHooks[Name]>,
  ): FilterHooks[Name];
  /** As `collect`, with the plugin that has added each entry. The list is the same object until plugins go live or are taken back. */
  owned<Name extends keyof RegistryHooks>(name: Name): readonly OwnedEntry<RegistryHooks[Name]>[];
  /** How Mailwright calls what plugins have handed over. Call no function of a plugin without it. */
  readonly contained: ContainedCalls;
  /** As `filter`, by the plugins that may take part: the value after each one's callback. The last one is the result; none: no plugin takes part. */
  filterSteps<Name extends keyof FilterHooks>(
    name: Name,
    value: FilterHooks[Name],
    mayTakePart: (plugin: string) => boolean,
  ): readonly OwnedEntry<FilterHooks[Name]>[];
  /** The hooks to which plugins have registered something that is live, in no order. */
  liveNames(): readonly string[];
  /** Something of the plugin is live and cannot be used; what is said is forgotten when the plugin goes live anew or is taken back. */
  noteLeftOut(plugin: string, reason: string): void;
  /** What of the plugin was left out, in sentences; undefined: nothing. */
  leftOut(plugin: string): string | undefined;
  /** How often plugins have gone live or were taken back, or customers have switched some on or off: what was made with other hooks has another number. */
  readonly changes: number;
  /** Called each time after plugins have gone live or were taken back; returns how to end that. */
  onChange(listener: () => void): () => void;
  /**
   * Called before plugins go live, with the entries that would be live then. When it throws, the plugins do not go live, and what it has
   * thrown is the reason. Returns how to end that.
   */
  check(check: (next: OwnedEntries) => void): () => void;
}
