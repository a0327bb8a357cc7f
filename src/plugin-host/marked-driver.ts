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
  const { webhook, identities } = registration;
  return {
    ...withMarkedFunctions(plugin, registration),
    connect: (settings, options) =>
      markedDriver(
        plugin,
        asPlugin(plugin, () => registration.connect(settings, options)),
      ),
    ...(webhook && { webhook: withMarkedFunctions(plugin, webhook) }),
    ...(identities && {
      identities: (settings, options) =>
        withMarkedFunctions(
          plugin,
          asPlugin(plugin, () => Reflect.apply(identities, registration, [settings, options])),
        ),
    }),
  };
}

/** A copy whose functions run as the plugin's: all of them, so that a new one of the contract is not forgotten here. */
function withMarkedFunctions<T extends object>(plugin: string, given: T): T {
  const functions = Object.entries(given).filter(
    (entry): entry is [string, Function] => typeof entry[1] === 'function',
  );
  return { ...given, ...Object.fromEntries(functions.map(([key, act]) => [key, marked(plugin, given, act)])) };
}

/** A driver may be an object of a class, and may get further functions later: they are found when they are called. */
function markedDriver(plugin: string, driver: SendingDriver): SendingDriver {
  const known = new Map<unknown, (...args: unknown[]) => unknown>();
  // Without members of its own, as a proxy may not answer otherwise than a frozen one.
  const target: SendingDriver = Object.create(driver);
  return new Proxy(target, {
    get(_target, key): unknown {
      const value: unknown = Reflect.get(driver, key, driver);
      if (typeof value !== 'function') return value;
      const marks = known.get(value) ?? marked(plugin, driver, value);
      known.set(value, marks);
      return marks;
    },
  });
}

function marked(plugin: string, owner: object, act: Function): (...args: unknown[]) => unknown {
  return (...args) => asPlugin(plugin, (): unknown => Reflect.apply(act, owner, args));
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
