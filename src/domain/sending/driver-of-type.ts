/** The drivers of the active plugins, by the type of server. */
import type { HookCalls, SendingDriverRegistration } from '../../plugin-api/index.ts';

/** Undefined: no active plugin provides this type. */
export function driverOfType(hooks: HookCalls, type: string): SendingDriverRegistration | undefined {
  return hooks.collect('register_sending_server_driver').find((entry) => entry.type === type);
}

/** Why no server of this type can send now, in a sentence; null: a plugin provides it. */
export function missingDriver(hooks: HookCalls, type: string): string | null {
  if (driverOfType(hooks, type)) return null;
  return `No active plugin provides servers of type "${type}": activate the plugin, or put its folder back.`;
}
