/** How hooks are called: each pattern has its own rule (specification 6.4). */
import type { HookCalls } from '../plugin-api/index.ts';
import { deepFreeze } from '../lib/deep-freeze.ts';
import { safeMessageOf, type ContainedCalls } from './contained-call.ts';
import { HookError } from './hook-error.ts';
import type { HookTable, LiveEntry } from './hook-table.ts';

const NOTHING_TO_WAIT_FOR = Promise.resolve();

export function createHookCalls(table: HookTable, contained: ContainedCalls): HookCalls {
  return {
    collect: (name) => table.live.registries.get(name)?.values ?? [],
    fire(name, ...args) {
      const listeners = table.live.listeners.get(name)?.entries;
      if (!listeners) return NOTHING_TO_WAIT_FOR;
      return fireAll(contained, listeners, deepFreeze(args));
    },
    performer: (name) => table.live.behaviors.get(name)?.entries[0]?.plugin,
    async perform(name, ...args) {
      const behavior = table.live.behaviors.get(name)?.entries[0];
      if (!behavior) throw new HookError('NOBODY_PERFORMS', `No active plugin performs the behavior "${name}".`);
      try {
        return await contained.result(behavior, () => behavior.value(...args));
      } catch (error) {
        const message = `Plugin "${behavior.plugin}" failed to perform "${name}": ${safeMessageOf(error)}`;
        throw new HookError('BEHAVIOR_FAILED', message, { cause: error });
      }
    },
    filter(name, value) {
      const callbacks = table.live.callbacks.get(name)?.entries;
      return callbacks ? filterThrough(contained, callbacks, value) : value;
    },
  };
}

type Listeners<Args extends readonly unknown[]> = readonly LiveEntry<(...args: Args) => void | Promise<void>>[];

async function fireAll<Args extends readonly unknown[]>(
  contained: ContainedCalls,
  listeners: Listeners<Args>,
  args: Args,
): Promise<void> {
  for (const listener of listeners) {
    const running = contained.call(listener, () => promiseOf(listener.value(...args)));
    if (running) await contained.wait(listener, running);
  }
}

type Callbacks<Value> = readonly LiveEntry<(value: Value) => Value>[];

/** A callback that fails, or returns another kind of value, changes nothing. */
function filterThrough<Value>(contained: ContainedCalls, callbacks: Callbacks<Value>, value: Value): Value {
  let current = deepFreeze(value);
  for (const callback of callbacks) current = valueAfter(contained, callback, current);
  return current;
}

/** The value after each callback, with its plugin. */
export function filterSteps<Value>(
  contained: ContainedCalls,
  callbacks: Callbacks<Value>,
  value: Value,
): readonly LiveEntry<Value>[] {
  let current = deepFreeze(value);
  return callbacks.map((callback) => {
    current = valueAfter(contained, callback, current);
    return { plugin: callback.plugin, hook: callback.hook, value: current };
  });
}

function valueAfter<Value>(contained: ContainedCalls, callback: Callbacks<Value>[number], before: Value): Value {
  const next = contained.call(callback, () => deepFreeze(sameKind(callback.value(before), before)));
  return next === undefined ? before : next;
}

/** Throws TypeError when it is another kind of value. */
export function sameKind<Value>(next: Value, before: Value): Value {
  if (kindOf(next) === kindOf(before)) return next;
  throw new TypeError(`The callback returned ${kindOf(next)} instead of ${kindOf(before)}.`);
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (value === null) return 'null';
  const promise = promiseOf(value);
  // Nobody waits for it: its rejection must not end the process.
  promise?.catch(() => undefined);
  return promise ? 'a promise' : typeof value;
}

/** A promise of our own: whatever the plugin's `then` does, even one that throws, becomes its result. */
function promiseOf(value: unknown): Promise<unknown> | undefined {
  if (typeof value !== 'object' || value === null || !('then' in value)) return undefined;
  return new Promise((resolve) => resolve(value));
}
