/** The order of the entries of one hook. It is the same in every process, whatever the order in which plugins became active. */
import type { HookOrder } from '../plugin-api/index.ts';
import { orderCycle } from './hook-error.ts';

export interface OrderedEntry {
  readonly plugin: string;
  readonly order: HookOrder;
}

/**
 * First `before` and `after`, then the smaller priority, then the plugin's name, then as registered. Throws HookError `ORDER_CYCLE`.
 */
export function inOrder<Entry extends OrderedEntry>(hook: string, entries: readonly Entry[]): Entry[] {
  const waiting = [...entries].sort(
    (a, b) => priorityOf(a) - priorityOf(b) || (a.plugin < b.plugin ? -1 : Number(a.plugin > b.plugin)),
  );
  const ordered: Entry[] = [];
  while (waiting.length > 0) {
    const next = waiting.findIndex((entry) => !waiting.some((other) => mustPrecede(other, entry)));
    if (next === -1) throw orderCycle(hook, cycleIn(waiting));
    ordered.push(...waiting.splice(next, 1));
  }
  return ordered;
}

function priorityOf({ order: { priority = 0 } }: OrderedEntry): number {
  return priority;
}

function mustPrecede(first: OrderedEntry, second: OrderedEntry): boolean {
  if (first === second) return false;
  return Boolean(first.order.before?.includes(second.plugin) || second.order.after?.includes(first.plugin));
}

/** Plugins that wait for each other in a circle, the first one at both ends. Each of the entries waits for another one. */
function cycleIn(entries: readonly OrderedEntry[]): string[] {
  const path: OrderedEntry[] = [];
  let entry = entries[0];
  while (entry && !path.includes(entry)) {
    path.unshift(entry);
    const waits = entry;
    entry = entries.find((other) => mustPrecede(other, waits));
  }
  const plugins = path.map(({ plugin }) => plugin);
  return entry ? [entry.plugin, ...plugins.slice(0, path.indexOf(entry) + 1)] : plugins;
}
