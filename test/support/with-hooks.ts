/** Plugins that exist only in a test: registered, started and live. */
import type { Plugin, SendingDriverRegistration } from '../../src/plugin-api/index.ts';
import type { HookBus } from '../../src/plugin-host/hook-bus.ts';

let made = 0;

/** Adds a plugin, with a name of its own if it has none, and returns the name. */
export function withHooks(bus: HookBus, { name = `test/plugin-${++made}`, ...rest }: Partial<Plugin>): string {
  const plugin = { name, ...rest };
  bus.register(plugin);
  bus.boot(plugin);
  bus.goLive(name);
  return name;
}

export function withDriver(bus: HookBus, driver: SendingDriverRegistration): string {
  return withHooks(bus, { register: (hooks) => hooks.add('register_sending_server_driver', driver) });
}
