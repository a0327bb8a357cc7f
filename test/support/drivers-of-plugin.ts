/** The drivers and verifiers that a bundled plugin registers, as the host gets them; and the driver of SMTP for presets. */
import { plugin as smtp } from '../../plugins/mailwright/smtp/index.ts';
import { silentLog } from '../../src/lib/log.ts';
import type {
  DriverOptions,
  EmailVerifierRegistration,
  Plugin,
  SendingDriverRegistration,
  SettingsInput,
} from '../../src/plugin-api/index.ts';
import { createHookBus } from '../../src/plugin-host/hook-bus.ts';

/** By their types. */
export function driversOf(plugin: Plugin): ReadonlyMap<string, SendingDriverRegistration> {
  return new Map(
    liveBus(plugin)
      .collect('register_sending_server_driver')
      .map((driver) => [driver.type, driver]),
  );
}

function liveBus(plugin: Plugin) {
  const bus = createHookBus(silentLog);
  bus.register(plugin);
  bus.boot(plugin);
  bus.goLive(plugin.name);
  return bus;
}

/** The verifier of this type. */
export function verifierOf(plugin: Plugin, type: string): EmailVerifierRegistration {
  const verifier = liveBus(plugin)
    .collect('register_email_verifier')
    .find((entry) => entry.type === type);
  if (!verifier) throw new Error(`The plugin registers no verifier ${type}.`);
  return verifier;
}

/** The driver of this type. */
export function driverOf(plugin: Plugin, type: string): SendingDriverRegistration {
  const driver = driversOf(plugin).get(type);
  if (!driver) throw new Error(`The plugin registers no driver ${type}.`);
  return driver;
}

/** As the host makes it for a preset; without encryption, as servers of tests speak. */
export function connectSmtpFor(options: DriverOptions): NonNullable<DriverOptions['connectSmtp']> {
  const driver = driverOf(smtp, 'smtp');
  return (settings) => {
    const checked = driver.validate(settings);
    if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
    return driver.connect(checked.settings, options);
  };
}

/** What a preset of SMTP gives the driver of SMTP for these settings. */
export function smtpSettingsOf(preset: SendingDriverRegistration, input: SettingsInput): SettingsInput {
  const checked = preset.validate(input);
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  let given: SettingsInput = {};
  preset.connect(checked.settings, {
    ...{ connectionsMax: 1, clientName: 'client.test', replyTimeoutMs: 1_000 },
    connectSmtp(settings) {
      given = settings;
      return {
        capacity: 1,
        send: () => Promise.reject(new Error('not in this test')),
        test: async () => ({ ok: true }),
        close: async () => undefined,
      };
    },
  });
  return given;
}
