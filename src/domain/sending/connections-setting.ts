/**
 * The largest number of connections of a server, by its settings. The number of connections grows up to it where the driver has the
 * setting `max_connections`; with other drivers it is fixed, and each process has its part of it.
 */
import type { DriverSettings, HookCalls, SendingDriverRegistration } from '../../plugin-api/index.ts';
import { CONNECTIONS_MAX } from './routing/connection-growth.ts';

/** For drivers whose number does not grow: enough for every server, and not too many. */
const FIXED_CONNECTIONS = 5;

type Driver = Pick<SendingDriverRegistration, 'configKeys'>;

export function doesGrow({ configKeys }: Driver): boolean {
  return configKeys.includes('max_connections');
}

/** The types of servers whose number of connections grows. */
export function growingTypes(hooks: HookCalls): string[] {
  const drivers = hooks.collect('register_sending_server_driver');
  return drivers.filter((driver) => doesGrow(driver)).map(({ type }) => type);
}

export function connectionsOf(driver: Driver, settings: DriverSettings): number {
  const key = doesGrow(driver) ? 'max_connections' : 'connections';
  const connections = driver.configKeys.includes(key) ? settings[key] : undefined;
  if (typeof connections === 'number') return connections;
  return doesGrow(driver) ? CONNECTIONS_MAX : FIXED_CONNECTIONS;
}
