/**
 * Settings of a sending server are stored only after the driver found them valid and the server answered (specification 4.13.4):
 * fields first, then a real connection that sends nothing.
 */
import { hostname } from 'node:os';
import type { AddressGuard } from '../../lib/public-address.ts';
import { messageOf, type FieldErrors } from '../../lib/errors.ts';
import type {
  ConnectionTest,
  DriverSettings,
  SendingDriver,
  SendingDriverRegistration,
  SettingsInput,
  VendorIdentities,
} from '../../plugin-api/index.ts';
import { endChecks, type Context } from '../context.ts';
import { connectionsOf } from './connections-setting.ts';
import { driverOptions, guardOf } from './driver-options.ts';
import { programFaults, requireSystem } from './program-rule.ts';
import { connectionFailed, unknownType, wrongSettings } from './sending-server-errors.ts';
import { settingsErrors, type StoredServer } from './sending-server.ts';
import { divideSettings, parsePublicSettings, unsealSecrets } from './server-secrets.ts';

/** A person waits for the answer in a browser; a slower server is not fit for sending. */
const TRY_TIMEOUT_MS = 15_000;
const ONE_CONNECTION = { connectionsMax: 1, clientName: hostname(), replyTimeoutMs: TRY_TIMEOUT_MS };

export interface TrySettings {
  readonly type: string;
  readonly settings: SettingsInput;
  /** Names of the settings that were just given; absent: all of them. */
  readonly given?: readonly string[];
  /** A system server may be anywhere; a customer's only at public addresses (decision D44). */
  readonly isSystem: boolean;
}

export interface TriedSettings {
  readonly settings: DriverSettings;
  readonly secrets: DriverSettings;
  readonly connectionsMax: number;
}

/** Checks and tests the settings. Throws ValidationError on `type`, `settings.<key>` or `connection`. */
export async function trySettings(ctx: Context, input: TrySettings): Promise<TriedSettings> {
  const { driver, settings } = checkSettings(ctx, input);
  await checkHost(guardOf(ctx, input), settings);
  endChecks(ctx);
  const result = await useOnce(ctx, { driver, settings, isSystem: input.isSystem, use: testWithinTime });
  if (!result.ok) throw connectionFailed(result.message);
  return { ...divideSettings(driver, settings), connectionsMax: connectionsOf(driver, settings) };
}

/** Checks the settings without a connection. Throws ValidationError on `type` or `settings.<key>`. */
export function checkSettings(ctx: Context, input: TrySettings) {
  const driver = driverOf(ctx, input.type);
  requireSystem(driver, input);
  const given = input.given ?? Object.keys(input.settings);
  const checked = driver.validate(input.settings);
  const errors = {
    ...unknownSettings(driver, given),
    ...namedTwice(driver, given),
    ...(checked.ok ? programFaults(ctx, driver, checked.settings) : checked.errors),
  };
  if (!checked.ok || Object.keys(errors).length > 0) throw wrongSettings(settingsErrors(errors));
  return { driver, settings: checked.settings };
}

/** The driver that plugins registered for this type. Throws ValidationError on `type`. */
export function driverOf(ctx: Context, type: string): SendingDriverRegistration {
  const drivers = ctx.hooks.collect('register_sending_server_driver');
  const driver = drivers.find((entry) => entry.type === type);
  if (!driver) throw unknownType(drivers.map((entry) => entry.type));
  return driver;
}

/** A misspelt name would silently leave a setting at its default. */
function unknownSettings(driver: SendingDriverRegistration, names: readonly string[]): FieldErrors {
  const known = [...driver.configKeys, ...Object.keys(driver.formerKeys ?? {})];
  const message = `There is no such setting for servers of type ${driver.type}. Known are: ${driver.configKeys.join(', ')}.`;
  return Object.fromEntries(names.filter((name) => !known.includes(name)).map((name) => [name, [message]]));
}

/** Under its present name and its former one: which of them was meant cannot be known. */
function namedTwice({ formerKeys = {} }: SendingDriverRegistration, names: readonly string[]): FieldErrors {
  const twice = Object.entries(formerKeys).filter(
    ([former, present]) => names.includes(former) && names.includes(present),
  );
  const message = (former: string, present: string) =>
    `${former} is the former name of ${present}: give only ${present}.`;
  return Object.fromEntries(twice.map(([former, present]) => [former, [message(former, present)]]));
}

async function checkHost(guard: AddressGuard | undefined, settings: DriverSettings): Promise<void> {
  const host = settings['host'];
  const refusal = guard && typeof host === 'string' ? await guard.refusal(host) : undefined;
  if (refusal) throw wrongSettings({ 'settings.host': [refusal] });
}

interface OneUse<Result> {
  readonly driver: SendingDriverRegistration;
  readonly settings: DriverSettings;
  readonly isSystem: boolean;
  readonly use: (connection: SendingDriver) => Promise<Result>;
}

async function useOnce<Result>(ctx: Context, { driver, settings, isSystem, use }: OneUse<Result>): Promise<Result> {
  const connection = driver.connect(settings, driverOptions(ctx, { isSystem }, ONE_CONNECTION));
  try {
    return await use(connection);
  } finally {
    // A connection that hangs is closed in the background.
    void connection.close().catch(() => undefined);
  }
}

/**
 * Uses a stored server once, over a connection of its own; customers' servers at public addresses only (decision D44). Throws
 * ValidationError on `type` or `settings.<key>`.
 */
export async function useStoredServer<Result>(
  ctx: Context,
  server: StoredServer,
  use: (connection: SendingDriver) => Promise<Result>,
): Promise<Result> {
  const { driver, settings } = await usableServer(ctx, server);
  return useOnce(ctx, { driver, settings, isSystem: server.isSystem, use });
}

type UsedServer = Pick<StoredServer, 'uid' | 'type' | 'settings' | 'sealedSettings' | 'isSystem'>;

/** The senders of a stored server's account; undefined: its driver does not show them. */
export async function openIdentities(ctx: Context, server: UsedServer): Promise<VendorIdentities | undefined> {
  const { driver, settings } = await usableServer(ctx, server);
  return driver.identities?.(settings, driverOptions(ctx, server, ONE_CONNECTION));
}

/** What was allowed when the server was saved may be forbidden now. */
async function usableServer(ctx: Context, server: UsedServer) {
  const driver = driverOf(ctx, server.type);
  const settings = storedSettings(ctx, server);
  requireSystem(driver, server);
  const faults = programFaults(ctx, driver, settings);
  if (Object.keys(faults).length > 0) throw wrongSettings(settingsErrors(faults));
  // The guard's look-up is not asked about a host that is written as an address.
  await checkHost(guardOf(ctx, server), settings);
  return { driver, settings };
}

function storedSettings({ installation }: Context, { uid, settings, sealedSettings }: UsedServer): DriverSettings {
  return { ...parsePublicSettings(settings), ...unsealSecrets(installation.secret, uid, sealedSettings) };
}

/** Whether the server can be used: the driver's own test, but not longer than a person waits. */
export function testWithinTime(connection: SendingDriver): Promise<ConnectionTest> {
  // A driver that throws at once has failed its test as well.
  return withinTime(Promise.resolve().then(() => connection.test()));
}

async function withinTime(test: Promise<ConnectionTest>): Promise<ConnectionTest> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<{ ok: false; message: string }>((resolve) => {
    timer = setTimeout(
      () => resolve({ ok: false, message: `The server did not answer within ${TRY_TIMEOUT_MS / 1000} seconds.` }),
      TRY_TIMEOUT_MS,
    );
  });
  const answer = test.catch((error: unknown) => ({ ok: false as const, message: messageOf(error) }));
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
