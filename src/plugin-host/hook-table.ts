/**
 * What plugins have registered, by plugin. Entries are prepared first and have no effect. When a plugin becomes active, all of its
 * entries go live at one instant, and later they are taken back in the same way: hooks are always called on one unchanging
 * snapshot, and a call ends on that on which it began.
 */
import type {
  Behavior,
  BehaviorHooks,
  EventHooks,
  FilterCallback,
  FilterHooks,
  HookPattern,
  Listener,
  RegistryHooks,
} from '../plugin-api/index.ts';
import { inOrder, type OrderedEntry } from './hook-order.ts';
import type { Phase } from './known-hooks.ts';

export interface PreparedEntry extends OrderedEntry {
  readonly hook: string;
  readonly pattern: HookPattern;
  /** The entry, listener, behavior or callback. */
  readonly value: unknown;
  /** A behavior that gives way to another one. */
  readonly isFallback: boolean;
}

export interface LiveEntry<Value> {
  readonly plugin: string;
  readonly hook: string;
  readonly value: Value;
}

/** The live entries of a hook in their order; nothing where there are none. */
interface ByName<Values> {
  get<Name extends keyof Values>(name: Name): LiveEntries<Values[Name]> | undefined;
}

interface LiveEntries<Value> {
  readonly entries: readonly LiveEntry<Value>[];
  readonly values: readonly Value[];
}

export interface Snapshot {
  /** Hooks with something live. */
  readonly names: readonly string[];
  readonly registries: ByName<RegistryHooks>;
  readonly listeners: ByName<{ [Name in keyof EventHooks]: Listener<Name> }>;
  readonly behaviors: ByName<{ [Name in keyof BehaviorHooks]: Behavior<Name> }>;
  readonly callbacks: ByName<{ [Name in keyof FilterHooks]: FilterCallback<Name> }>;
}

type Prepared = Readonly<Record<Phase, readonly PreparedEntry[]>>;

export class HookTable {
  readonly #prepared = new Map<string, Prepared>();
  #active: ReadonlySet<string> = new Set();
  #snapshot: Snapshot = snapshotOf([]);
  readonly #watchers = new Set<() => void>();
  readonly #checks = new Set<(next: Snapshot) => void>();
  #changes = 0;

  /** What is live now. */
  get live(): Snapshot {
    return this.#snapshot;
  }

  /** How often that has changed. */
  get changes(): number {
    return this.#changes;
  }

  /** Called each time after the snapshot has changed; returns how to end that. */
  onChange(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Called before plugins go live, with what would be live; when it throws, nothing changes. Returns how to end that. */
  check(check: (next: Snapshot) => void): () => void {
    this.#checks.add(check);
    return () => void this.#checks.delete(check);
  }

  has(plugin: string): boolean {
    return this.#prepared.has(plugin);
  }

  /** Replaces what the plugin has registered in this phase; it is not live yet. */
  prepare(plugin: string, phase: Phase, entries: readonly PreparedEntry[]): void {
    this.#prepared.set(plugin, { ...(this.#prepared.get(plugin) ?? { register: [], boot: [] }), [phase]: entries });
  }

  /** The plugin that has `set` this behavior, live or prepared. */
  claimantOf(behavior: string): string | undefined {
    return this.#entries().find(
      ({ hook, pattern, isFallback }) => hook === behavior && pattern === 'BEHAVIOR' && !isFallback,
    )?.plugin;
  }

  /** All that these plugins have prepared takes effect. Throws HookError `ORDER_CYCLE`, or what a check throws; then nothing changes. */
  goLive(plugins: readonly string[]): void {
    for (const plugin of plugins) {
      if (!this.has(plugin)) throw new Error(`Plugin "${plugin}" is not registered.`);
    }
    const active = new Set([...this.#active, ...plugins]);
    const next = this.#snapshotOf(active);
    for (const check of this.#checks) check(next);
    this.#activate(active, next);
  }

  /** Nothing of the plugin has an effect any more. What `register` prepared is kept for the next activation. */
  takeBack(plugin: string): void {
    const active = new Set([...this.#active].filter((name) => name !== plugin));
    this.#activate(active, this.#snapshotOf(active));
    if (this.has(plugin)) this.prepare(plugin, 'boot', []);
  }

  remove(plugin: string): void {
    this.takeBack(plugin);
    this.#prepared.delete(plugin);
  }

  #activate(active: ReadonlySet<string>, snapshot: Snapshot): void {
    this.#snapshot = snapshot;
    this.#active = active;
    this.#changes += 1;
    for (const watcher of this.#watchers) watcher();
  }

  #snapshotOf(active: ReadonlySet<string>): Snapshot {
    return snapshotOf(this.#entries().filter(({ plugin }) => active.has(plugin)));
  }

  #entries(): PreparedEntry[] {
    return [...this.#prepared.values()].flatMap(({ register, boot }) => [...register, ...boot]);
  }
}

function snapshotOf(entries: readonly PreparedEntry[]): Snapshot {
  // Its keys and values belong together by construction: registration has checked each name's pattern.
  const byName = new Map();
  for (const [hook, its] of Map.groupBy(entries, (entry) => entry.hook)) {
    const live = inEffect(inOrder(hook, its)).map(({ plugin, value }) => ({ plugin, hook, value }));
    byName.set(hook, { entries: live, values: Object.freeze(live.map(({ value }) => value)) });
  }
  return {
    names: Object.freeze([...byName.keys()]),
    registries: byName,
    listeners: byName,
    behaviors: byName,
    callbacks: byName,
  };
}

/** Of a behavior one entry is in effect: the one that was `set`, else the first. */
function inEffect(entries: readonly PreparedEntry[]): readonly PreparedEntry[] {
  if (entries[0]?.pattern !== 'BEHAVIOR') return entries;
  return [entries.find(({ isFallback }) => !isFallback) ?? entries[0]];
}
