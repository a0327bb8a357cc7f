/**
 * Settings of a payment gateway are stored only after the plugin found them valid and the vendor accepted the credentials (as those of
 * sending servers, specification 4.13.4): fields first, then the gateway's own test.
 */
import { z } from 'zod';
import { messageOf, PluginFailedError, type FieldErrors } from '../../../lib/errors.ts';
import { GatewayError, type ConnectionTest, type GatewayData } from '../../../plugin-api/index.ts';
import { endChecks, type Context } from '../../context.ts';
import { sealGatewaySecrets } from './gateway-secrets.ts';
import { gatewayTypeOf, openWith, type GatewayType, type OpenGateway } from './open-gateway.ts';
import { gatewayTestFailed, wrongGatewaySettings } from './payment-gateway-errors.ts';

/** A person waits for the answer in a browser. */
const TEST_TIMEOUT_MS = 15_000;

const checkShape = z.union([
  z.object({ ok: z.literal(true), data: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])) }),
  z.object({ ok: z.literal(false), errors: z.record(z.string(), z.array(z.string())) }),
]);

export interface GivenGateway {
  readonly uid: string;
  readonly type: string;
  readonly name: string;
  readonly settings: Readonly<Record<string, unknown>>;
  /** Names of the settings that were just given; absent: all of them. */
  readonly given?: readonly string[];
}

export interface TriedGateway {
  readonly settings: GatewayData;
  readonly sealedSettings: Buffer;
}

/** Checks and tests the settings. Throws ValidationError on `type`, `settings.<key>` or `connection`. */
export async function tryGateway(ctx: Context, wanted: GivenGateway): Promise<TriedGateway> {
  const { type, data } = checkGateway(ctx, wanted);
  endChecks(ctx);
  const isSecret = ([key]: [string, unknown]) => type.registration.secretKeys.includes(key);
  const settings = Object.fromEntries(Object.entries(data).filter((entry) => !isSecret(entry)));
  const secrets = Object.fromEntries(Object.entries(data).filter(isSecret));
  const sealedSettings = sealGatewaySecrets(ctx.installation.secret, wanted.uid, secrets);
  const record = { id: 0n, status: 'inactive' as const, deletingAt: null, ...wanted, settings, sealedSettings };
  const result = await testGateway(openWith(ctx, type, record));
  if (!result.ok) throw gatewayTestFailed(result.message);
  return { settings, sealedSettings };
}

/** The gateway's own test, but not longer than a person waits. Never rejects. */
export async function testGateway(gateway: OpenGateway): Promise<ConnectionTest> {
  try {
    return await gateway.call((service) => service.test(), TEST_TIMEOUT_MS);
  } catch (error) {
    if (error instanceof GatewayError || error instanceof PluginFailedError)
      return { ok: false, message: messageOf(error) };
    throw error;
  }
}

/** Checks the settings without calling the vendor. Throws ValidationError on `type` or `settings.<key>`. */
export function checkGateway(
  ctx: Context,
  { type: name, settings, given = Object.keys(settings) }: GivenGateway,
): { readonly type: GatewayType; readonly data: GatewayData } {
  const type = gatewayTypeOf(ctx, name);
  const checked = checkShape.parse(validated(ctx, type, settings));
  const errors: FieldErrors = { ...unknownKeys(type, given), ...(checked.ok ? {} : checked.errors) };
  if (!checked.ok || Object.keys(errors).length > 0) throw wrongGatewaySettings(errors);
  return { type, data: checked.data };
}

function validated(ctx: Context, { plugin, registration }: GatewayType, settings: GivenGateway['settings']): unknown {
  if (plugin === null) return registration.validate(settings);
  try {
    return ctx.hooks.contained.callOrThrow({ plugin, hook: 'register_payment_gateway' }, () =>
      registration.validate(settings),
    );
  } catch (error) {
    throw new PluginFailedError(plugin, { cause: error });
  }
}

/** A misspelt name would silently leave a setting at its default. */
function unknownKeys({ registration: { type, configKeys } }: GatewayType, names: readonly string[]): FieldErrors {
  const known = configKeys.length > 0 ? `Known are: ${configKeys.join(', ')}.` : 'It has none.';
  const message = `There is no such setting for payment gateways of type ${type}. ${known}`;
  return Object.fromEntries(names.filter((name) => !configKeys.includes(name)).map((name) => [name, [message]]));
}
