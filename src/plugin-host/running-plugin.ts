/**
 * Whose code runs. Code of plugins runs inside `asPlugin`; what it starts from there (timers, promises, sockets) still belongs to the plugin.
 * A marker in shared memory names the plugin that has the main thread, for a thread that watches it (`watch-thread`).
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { MARKER_CALLS, MARKER_LENGTH, MARKER_PLUGIN } from './marker.ts';

/** Which plugin has the main thread, by its number. */
export const marker = new Int32Array(new SharedArrayBuffer(MARKER_LENGTH * Int32Array.BYTES_PER_ELEMENT));

const running = new AsyncLocalStorage<string | undefined>();
/** Number in the marker by name; 0 is nobody. */
const numbers = new Map<string, number>();
const namers = new Set<(number: number, plugin: string) => void>();

/** Runs code of this plugin. It throws, and returns, what the code does. */
export function asPlugin<T>(plugin: string, act: () => T): T {
  const number = numbers.get(plugin) ?? newNumber(plugin);
  const before = marker[MARKER_PLUGIN] ?? 0;
  enter(number);
  try {
    return running.run(plugin, act);
  } finally {
    enter(before);
  }
}

/** Runs Mailwright's own code, also when a plugin has called it: what it starts does not belong to the plugin. */
export function asMailwright<T>(act: () => T): T {
  return running.run(undefined, act);
}

/** The plugin whose code runs now, or that has started what runs now; undefined: Mailwright itself. */
export function runningPlugin(): string | undefined {
  return running.getStore();
}

/** Tells the numbers of the marker, those given already and each new one. */
export function onNumber(namer: (number: number, plugin: string) => void): void {
  for (const [plugin, number] of numbers) namer(number, plugin);
  namers.add(namer);
}

function enter(number: number): void {
  marker[MARKER_CALLS] = ((marker[MARKER_CALLS] ?? 0) + 1) | 0;
  marker[MARKER_PLUGIN] = number;
}

function newNumber(plugin: string): number {
  const number = numbers.size + 1;
  numbers.set(plugin, number);
  for (const namer of namers) namer(number, plugin);
  return number;
}
