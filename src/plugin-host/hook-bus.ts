/** The hook bus: four kinds of hooks, each with its own rule (specification 6.4). One bus per process. */
import type { Behavior, BehaviorHooks, EventHooks, FilterHooks, Hooks, RegistryHooks } from '../plugin-api/index.ts';
import type { Log } from '../lib/log.ts';
import { messageOf } from '../lib/errors.ts';

type Entries<Map> = { [Name in keyof Map]?: Map[Name][] };
type Listeners = { [Name in keyof EventHooks]?: ((...args: EventHooks[Name]) => void | Promise<void>)[] };
type Behaviors = { [Name in keyof BehaviorHooks]?: Behavior<Name> };
type Callbacks = { [Name in keyof FilterHooks]?: ((value: FilterHooks[Name]) => FilterHooks[Name])[] };

/** A bus with nothing registered. */
export function createHookBus(log: Log): Hooks {
  const registries: Entries<RegistryHooks> = {};
  const listeners: Listeners = {};
  const behaviors: Behaviors = {};
  const callbacks: Callbacks = {};

  return {
    add(name, entry) {
      registries[name] = [...(registries[name] ?? []), entry];
    },
    collect: (name) => registries[name] ?? [],
    on(name, listener) {
      // Written by name: the compiler cannot follow the type of a name into the map.
      Object.assign(listeners, { [name]: [...(listeners[name] ?? []), listener] });
    },
    async fire(name, ...args) {
      for (const listener of listeners[name] ?? []) {
        try {
          await listener(...args);
        } catch (error) {
          log.error('hook.listener_failed', { hook: name, message: messageOf(error) });
        }
      }
    },
    set(name, behavior) {
      if (behaviors[name]) throw new Error(`The behavior "${name}" is claimed already; only one plugin may set it.`);
      behaviors[name] = behavior;
    },
    setIfEmpty(name, behavior) {
      behaviors[name] ??= behavior;
    },
    perform(name, ...args) {
      const behavior = behaviors[name];
      if (!behavior) throw new Error(`Nobody performs the behavior "${name}".`);
      return behavior(...args);
    },
    modify(name, callback) {
      callbacks[name] = [...(callbacks[name] ?? []), callback];
    },
    filter: (name, value) => (callbacks[name] ?? []).reduce((current, callback) => callback(current), value),
  };
}
