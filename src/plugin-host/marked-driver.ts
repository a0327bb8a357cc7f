/**
 * A sending driver whose code runs as its plugin's, however Mailwright calls it: a driver that blocks the process, or whose sockets fail later, is
 * named. What it throws is the answer of its server and goes to the caller as it is.
 */
import type { SendingDriver, SendingDriverRegistration } from '../plugin-api/index.ts';
import type { Giver } from './entry-check.ts';
import { asPlugin } from './running-plugin.ts';

/** The entry of `register_sending_server_driver` with its functions marked. Not of another shape than it was given. */
export function markDriver(value: unknown, { plugin }: Giver): unknown {
  return isRegistration(value) ? markedRegistration(plugin, value) : value;
}

function markedRegistration(plugin: string, registration: SendingDriverRegistration): SendingDriverRegistration {
  const { webhook } = registration;
  return {
    ...registration,
    validate: (settings) => asPlugin(plugin, () => registration.validate(settings)),
    connect: (settings, options) =>
      markedDriver(
        plugin,
        asPlugin(plugin, () => registration.connect(settings, options)),
      ),
    ...(webhook && {
      webhook: {
        verify: (request, settings) => asPlugin(plugin, () => webhook.verify(request, settings)),
        parse: (request, settings) => asPlugin(plugin, () => webhook.parse(request, settings)),
      },
    }),
  };
}

function markedDriver(plugin: string, driver: SendingDriver): SendingDriver {
  return {
    get capacity() {
      return driver.capacity;
    },
    send: (message) => asPlugin(plugin, () => driver.send(message)),
    test: () => asPlugin(plugin, () => driver.test()),
    close: () => asPlugin(plugin, () => driver.close()),
    ...(driver.useConnections && {
      useConnections: (count: number) => asPlugin(plugin, () => driver.useConnections?.(count)),
    }),
  };
}

function isRegistration(value: unknown): value is SendingDriverRegistration {
  return (
    typeof value === 'object' &&
    value !== null &&
    'connect' in value &&
    typeof value.connect === 'function' &&
    'validate' in value &&
    typeof value.validate === 'function'
  );
}
