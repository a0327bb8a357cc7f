/** What a plugin registers with while one of its phases runs: every use of a hook is checked at once. */
import {
  allowsHook,
  type HookCalls,
  type HookOrder,
  type HookPattern,
  type HookRegistration,
  type Plugin,
  type PluginRights,
  type PluginServices,
} from '../plugin-api/index.ts';
import { EntryError, type Giver } from './entry-check.ts';
import {
  alreadySet,
  HookError,
  invalidEntry,
  notInManifest,
  wrongPattern,
  wrongPhase,
  wrongVersion,
  type HookUse,
} from './hook-error.ts';
import type { HookNames } from './hook-names.ts';
import type { PreparedEntry } from './hook-table.ts';
import type { KnownHook, Phase } from './known-hooks.ts';
import { asPlugin } from './running-plugin.ts';

export interface PhaseTools {
  readonly names: HookNames;
  readonly calls: HookCalls;
  readonly services: PluginServices;
  /** The plugin's folder. */
  readonly folder: string | undefined;
  /** Absent: all. */
  readonly rights: PluginRights | undefined;
  /** The plugin that has set this behavior already. */
  readonly claimantOf: (behavior: string) => string | undefined;
}

/** Runs the phase and returns what the plugin has registered. Throws HookError, or what the plugin throws. */
export function runPhase(plugin: Plugin, phase: Phase, tools: PhaseTools): readonly PreparedEntry[] {
  const entries: PreparedEntry[] = [];
  let isOver = false;
  const register = (entry: PreparedEntry): void => {
    if (isOver) throw registrationClosed(plugin);
    const found = checkUse(plugin, phase, entry, tools);
    if (entry.pattern === 'BEHAVIOR' && !entry.isFallback) {
      const isOwn = entries.some(({ hook, isFallback }) => hook === entry.hook && !isFallback);
      const claimant = isOwn ? plugin.name : tools.claimantOf(entry.hook);
      if (claimant !== undefined) throw alreadySet(entry, claimant);
    }
    const others = entries.filter(({ hook }) => hook === entry.hook).map(({ value }) => value);
    entries.push({
      ...entry,
      value: checkedValue(entry, found, { plugin: plugin.name, folder: tools.folder, others }),
    });
  };
  try {
    const returned: unknown = asPlugin(plugin.name, () =>
      plugin[phase]?.(registrationOf(plugin, tools, register), tools.services),
    );
    if (returned instanceof Promise) {
      returned.catch(() => undefined);
      throw new HookError('ASYNCHRONOUS', `${phase}() of plugin "${plugin.name}" must not be asynchronous.`);
    }
  } finally {
    isOver = true;
  }
  return entries;
}

function registrationOf(plugin: Plugin, tools: PhaseTools, register: (entry: PreparedEntry) => void): HookRegistration {
  const entryOf = (pattern: HookPattern, hook: string, value: unknown, order: HookOrder = {}): PreparedEntry => ({
    // A copy: what the plugin changes later has no effect.
    ...{ plugin: plugin.name, hook, pattern, value, order: structuredClone(order), isFallback: false },
  });
  return {
    add: (name, entry, order) => register(entryOf('REGISTRY', name, entry, order)),
    on: (name, listener, order) => register(entryOf('EVENT', name, listener, order)),
    set: (name, behavior) => register(entryOf('BEHAVIOR', name, behavior)),
    setIfEmpty: (name, behavior) => register({ ...entryOf('BEHAVIOR', name, behavior), isFallback: true }),
    modify: (name, callback, order) => register(entryOf('FILTER', name, callback, order)),
    calls: ownCalls(plugin, tools),
  };
}

/** What is kept of the entry. Throws HookError `INVALID_ENTRY`. What a callback of a filter returns is checked each time. */
function checkedValue(entry: PreparedEntry, { check }: KnownHook, giver: Giver): unknown {
  const { pattern, value } = entry;
  if (!check) return value;
  if (pattern === 'FILTER' && typeof value === 'function') {
    return (before: unknown) => {
      const next: unknown = value(before);
      // A promise is refused where the kinds are compared, and its rejection is caught there.
      return typeof next === 'object' && next !== null && 'then' in next ? next : check(next, giver);
    };
  }
  try {
    return check(value, giver);
  } catch (error) {
    throw error instanceof EntryError ? invalidEntry(entry, error.message) : error;
  }
}

function checkUse(plugin: Plugin, phase: Phase, entry: PreparedEntry, tools: PhaseTools): KnownHook {
  const { hook, pattern, order, value } = entry;
  const found = tools.names.require(plugin.name, hook);
  requireRight({ plugin: plugin.name, hook }, tools);
  if (found.pattern !== pattern) throw wrongPattern(entry, pattern, found.pattern);
  if (found.phase !== phase) throw wrongPhase(entry, found.phase);
  const versions: Readonly<Record<string, number | undefined>> = plugin.versions ?? {};
  const writtenFor = versions[hook] ?? plugin.declares?.[hook]?.version ?? 1;
  if (writtenFor !== found.version) throw wrongVersion(entry, writtenFor, found.version);
  if (pattern !== 'REGISTRY' && typeof value !== 'function')
    throw new HookError(
      'NOT_A_FUNCTION',
      `Plugin "${plugin.name}" registers for the hook "${hook}" what is no function.`,
    );
  if (!Number.isFinite(order.priority ?? 0))
    throw new HookError(
      'INVALID_ORDER',
      `The priority of plugin "${plugin.name}" for the hook "${hook}" must be a number.`,
    );
  return found;
}

/** A hook of Mailwright must be in the manifest. Those of plugins are no business of Mailwright's. */
function requireRight(use: HookUse, { names, rights }: Pick<PhaseTools, 'names' | 'rights'>): void {
  if (rights && names.isOfProduct(use.hook) && !allowsHook(rights, use.hook)) throw notInManifest(use);
}

/** A plugin may call the hooks that it declares, and those of Mailwright that are meant for it. */
function ownCalls(plugin: Plugin, { names, calls, rights }: PhaseTools): HookCalls {
  const check = (hook: string): void => {
    const isOwn = Object.hasOwn(plugin.declares ?? {}, hook) && !names.isOfProduct(hook);
    if (isOwn || names.require(plugin.name, hook).isCalledByPlugins)
      return requireRight({ plugin: plugin.name, hook }, { names, rights });
    throw new HookError(
      'NOT_DECLARED',
      `Plugin "${plugin.name}" calls the hook "${hook}", which is not its own: add it to "declares" of definePlugin.`,
    );
  };
  return {
    collect(name) {
      check(name);
      return calls.collect(name);
    },
    async fire(name, ...args) {
      check(name);
      await calls.fire(name, ...args);
    },
    performer(name) {
      check(name);
      return calls.performer(name);
    },
    async perform(name, ...args) {
      check(name);
      return calls.perform(name, ...args);
    },
    filter(name, value) {
      check(name);
      return calls.filter(name, value);
    },
  };
}

function registrationClosed({ name }: Plugin): HookError {
  return new HookError('REGISTRATION_CLOSED', `Plugin "${name}" may register hooks only in register() and boot().`);
}
