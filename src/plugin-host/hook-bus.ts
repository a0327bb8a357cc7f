/** The hook bus of a process (specification 6.4): what plugins register, and how it takes effect. */
import type {
  FilterHooks,
  HookCalls,
  Plugin,
  PluginRights,
  PluginServices,
  RegistryHooks,
} from '../plugin-api/index.ts';
import type { Log } from '../lib/log.ts';
import { ActingCustomers } from './acting-customers.ts';
import { createCheckedFilter, type CheckedFilter } from './checked-filter.ts';
import { ContainedCalls } from './contained-call.ts';
import { FaultCounts } from './fault-counts.ts';
import { createHookCalls, filterSteps } from './hook-calls.ts';
import { HookError } from './hook-error.ts';
import { HookNames } from './hook-names.ts';
import { runPhase, type PhaseTools } from './hook-registration.ts';
import { HookTable, type LiveEntry, type Snapshot } from './hook-table.ts';
import { LeftOut } from './left-out.ts';
import { knownHooks, type KnownHooks, type Phase } from './known-hooks.ts';

export interface HookBus extends HookCalls {
  /**
   * Adds a plugin that was found and runs its `register`. Throws HookError, or what the plugin throws; then nothing is left of it.
   */
  register(plugin: Plugin, from?: PluginOrigin): void;
  /** Runs `boot` of a plugin that is registered. When it throws, nothing that it registered is left. */
  boot(plugin: Plugin): void;
  /**
   * All that these plugins have registered takes effect at one instant. Throws HookError `ORDER_CYCLE`, or what a check throws; then
   * nothing changes.
   */
  goLive(...plugins: string[]): void;
  /** Nothing of the plugin has an effect any more; the next activation runs `boot` again. */
  takeBack(plugin: string): void;
  /** Takes it back and removes it, with the hooks that it declares. */
  remove(plugin: string): void;
  /** As `collect`, with the plugin that has added each entry. */
  owned<Name extends keyof RegistryHooks>(name: Name): readonly LiveEntry<RegistryHooks[Name]>[];
  /** Calls functions that plugins have handed over. */
  readonly contained: ContainedCalls;
  /** The hooks to which something is live, in no order. */
  liveNames(): readonly string[];
  isFiltered(name: keyof FilterHooks): boolean;
  /** Whether the plugin may get data of this customer. */
  mayActFor(plugin: string, customerUid: string): boolean;
  /** From now on these customers (uids) have switched plugins on, by `vendor/name`. */
  useCustomers(switchedOn: ReadonlyMap<string, ReadonlySet<string>>): void;
  readonly filterChecked: CheckedFilter;
  /** Something of the plugin is live and cannot be used; forgotten when the plugin goes live anew or is taken back. */
  noteLeftOut(plugin: string, reason: string): void;
  leftOut(plugin: string): string | undefined;
  /** How often plugins have gone live or were taken back, or customers have switched some on or off. */
  readonly changes: number;
  /** Called each time after plugins have gone live or were taken back; returns how to end that. */
  onChange(watcher: () => void): () => void;
  /** As `filter` by some of the plugins, and tells the value after each callback with the callback's plugin. */
  filterSteps<Name extends keyof FilterHooks>(
    name: Name,
    value: FilterHooks[Name],
    mayTakePart: (plugin: string) => boolean,
  ): readonly LiveEntry<FilterHooks[Name]>[];
  /** Called before plugins go live, with the entries that would be; when it throws, nothing changes. Returns how to end that. */
  check(check: (next: OwnedEntries) => void): () => void;
  /** How often the code of plugins failed or was late. */
  readonly faults: FaultCounts;
}

/** Where a plugin comes from. */
export interface PluginOrigin {
  /** Its entries may name files of this folder. */
  readonly folder?: string;
  /** Those that it has from now on; absent: all. */
  readonly rights?: PluginRights;
}

/** Makes the services of a plugin; `rights` absent: all. */
export type ServicesOf = (plugin: string, rights: PluginRights | undefined) => PluginServices;

export interface OwnedEntries {
  owned<Name extends keyof RegistryHooks>(name: Name): readonly LiveEntry<RegistryHooks[Name]>[];
}

export interface HookBusOptions {
  /** What a plugin (`vendor/name`) with these rights may use. Absent: only the log. */
  readonly servicesOf?: ServicesOf;
  readonly known?: KnownHooks;
  /** Where faults are counted. Absent: its own. */
  readonly faults?: FaultCounts;
}

const NO_ENTRIES: readonly never[] = [];

/** Of a program that has no workers. */
const NO_JOBS: PluginServices['jobs'] = {
  enqueue: () => Promise.reject(new Error('This program runs no jobs of plugins.')),
};

/** A bus with nothing registered. */
export function createHookBus(
  log: Log,
  { servicesOf = logOnly(log), known = knownHooks, faults = new FaultCounts() }: HookBusOptions = {},
): HookBus {
  const names = new HookNames(known);
  const table = new HookTable();
  const contained = new ContainedCalls(log, faults);
  const calls = createHookCalls(table, contained);
  const tools = new Map<string, Pick<PhaseTools, 'folder' | 'rights' | 'services'>>();
  const customers = new ActingCustomers();
  const leftOut = new LeftOut();
  const mayActFor = (plugin: string, uid: string) => customers.allows(plugin, tools.get(plugin)?.rights, uid);
  const prepare = (plugin: Plugin, phase: Phase): void => {
    const claimantOf = (behavior: string) => table.claimantOf(behavior);
    const own = tools.get(plugin.name);
    if (own) table.prepare(plugin.name, phase, runPhase(plugin, phase, { names, calls, claimantOf, ...own }));
  };
  const remove = (plugin: string): void => {
    names.remove(plugin);
    leftOut.clear(plugin);
    tools.delete(plugin);
  };
  return {
    ...calls,
    register(plugin, { folder, rights } = {}) {
      if (table.has(plugin.name))
        throw new HookError(
          'NAME_TAKEN',
          `Another plugin is named "${plugin.name}": the name must be that of its folder.`,
        );
      names.declare(plugin);
      try {
        tools.set(plugin.name, { folder, rights, services: servicesOf(plugin.name, rights) });
        prepare(plugin, 'register');
      } catch (error) {
        remove(plugin.name);
        throw error;
      }
    },
    boot: (plugin) => prepare(plugin, 'boot'),
    goLive(...plugins) {
      table.goLive(plugins);
      leftOut.clear(...plugins);
    },
    takeBack(plugin) {
      leftOut.clear(plugin);
      table.takeBack(plugin);
    },
    remove(plugin) {
      table.remove(plugin);
      remove(plugin);
    },
    owned: (name) => ownedOf(table.live).owned(name),
    isFiltered: (name) => table.live.callbacks.get(name) !== undefined,
    filterChecked: createCheckedFilter({ table, contained, mayActFor }),
    noteLeftOut: (plugin, reason) => leftOut.note(plugin, reason),
    leftOut: (plugin) => leftOut.of(plugin),
    mayActFor,
    useCustomers: (switchedOn) => customers.use(switchedOn),
    contained,
    liveNames: () => table.live.names,
    get changes() {
      return table.changes + customers.changes;
    },
    onChange: (watcher) => table.onChange(watcher),
    check: (check) => table.check((next) => check(ownedOf(next))),
    filterSteps: stepsOf(table, contained),
    faults,
  };
}

function stepsOf(table: HookTable, contained: ContainedCalls): HookBus['filterSteps'] {
  return (name, value, mayTakePart) => {
    const callbacks = table.live.callbacks.get(name)?.entries ?? NO_ENTRIES;
    const own = callbacks.filter(({ plugin }) => mayTakePart(plugin));
    return filterSteps(contained, own, value);
  };
}

function ownedOf({ registries }: Snapshot): OwnedEntries {
  return { owned: (name) => registries.get(name)?.entries ?? NO_ENTRIES };
}

/** For tools and tests: there are no texts, nothing is set, and a plugin that asks for more is told so. */
function logOnly(log: Log): ServicesOf {
  const settings = { get: async () => ({}), getForCustomer: async () => ({}) };
  const none = () => Promise.reject(new Error('This program does nothing for plugins but write its log.'));
  return (plugin) => ({
    log: log.with({ plugin }),
    jobs: NO_JOBS,
    settings,
    translate: (_language, key) => key,
    graphql: none,
    fetch: none,
    database: { query: none, transaction: none },
    payments: { openCheckout: none, saveReference: none },
  });
}
