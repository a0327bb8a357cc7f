/**
 * Opens verifiers. Settings are stored only after the verifier found them valid and its test passed (specification 4.13.4, as for sending
 * servers): fields first, then a real test that verifies no address.
 */
import { messageOf, type FieldErrors } from '../../lib/errors.ts';
import { formsOfKey, hideSecrets } from '../../lib/hide-secrets.ts';
import { openOutboundPool } from '../../lib/outbound-pool.ts';
import { addressGuard } from '../../lib/public-address.ts';
import {
  VerifierError,
  type ConnectionTest,
  type DriverSettings,
  type EmailVerifier,
  type EmailVerifierRegistration,
  type HookCalls,
  type SettingsInput,
} from '../../plugin-api/index.ts';
import { endChecks, type Context } from '../context.ts';
import { settingsErrors } from '../sending/sending-server.ts';
import { divideSettings, parsePublicSettings, unsealSecrets } from '../sending/server-secrets.ts';
import { unknownVerifier, verifierFailed, wrongVerifierSettings } from './verification-server-errors.ts';
import type { VerificationServer } from './verification-server.ts';

/** A person waits for the answer. */
const TEST_TIMEOUT_MS = 15_000;
/** A service that looks at mailboxes needs longer than a test; some say how long. */
const REPLY_SECONDS = 30;

export interface VerifierSettings {
  readonly type: string;
  readonly settings: SettingsInput;
  /** Names of the settings that were just given; absent: all of them. */
  readonly given?: readonly string[];
}

/** Undefined: no active plugin provides this type. */
export function verifierOfType(hooks: HookCalls, type: string): EmailVerifierRegistration | undefined {
  return hooks.collect('register_email_verifier').find((entry) => entry.type === type);
}

/** Why no server of this type can verify now, in a sentence; null: a plugin provides it. */
export function missingVerifier(hooks: HookCalls, type: string): string | null {
  if (verifierOfType(hooks, type)) return null;
  return `No active plugin provides verifiers of type "${type}": activate the plugin, or put its folder back.`;
}

/** Checks the settings without using them. Throws ValidationError on `type` or `settings.<key>`. */
export function checkVerifierSettings(
  ctx: Context,
  { type, settings, given = Object.keys(settings) }: VerifierSettings,
) {
  const verifier = verifierOfType(ctx.hooks, type);
  if (!verifier) throw unknownVerifier(ctx.hooks.collect('register_email_verifier').map((entry) => entry.type));
  const checked = verifier.validate(settings);
  const errors: FieldErrors = { ...unknownKeys(verifier, given), ...(checked.ok ? {} : checked.errors) };
  if (!checked.ok || Object.keys(errors).length > 0) throw wrongVerifierSettings(settingsErrors(errors));
  return { verifier, settings: checked.settings };
}

/** Checks and tests the settings. Throws ValidationError on `type`, `settings.<key>` or `connection`. */
export async function tryVerifier(
  ctx: Context,
  { isSystem, ...input }: VerifierSettings & { readonly isSystem: boolean },
): Promise<{ readonly settings: DriverSettings; readonly secrets: DriverSettings }> {
  const { verifier, settings } = checkVerifierSettings(ctx, input);
  endChecks(ctx);
  const opened = openVerifier(ctx, verifier, { settings, isSystem });
  const test = await testVerifier(opened);
  if (!test.ok) throw verifierFailed(test.message);
  return divideSettings(verifier, settings);
}

/** Opens the verifier of a stored server. Throws ValidationError on `type` when no active plugin provides it. */
export function openStoredVerifier(ctx: Context, server: VerificationServer) {
  const registration = verifierOfType(ctx.hooks, server.type);
  if (!registration) throw unknownVerifier(ctx.hooks.collect('register_email_verifier').map((entry) => entry.type));
  const settings = storedVerifierSettings(ctx, server);
  return { registration, verifier: openVerifier(ctx, registration, { settings, isSystem: server.isSystem }) };
}

/** With the credentials. */
export function storedVerifierSettings(
  { installation }: Context,
  { uid, settings, sealedSettings }: VerificationServer,
): DriverSettings {
  return {
    ...parsePublicSettings(settings),
    ...unsealSecrets(installation.secret, uid, sealedSettings, 'email-verification-server'),
  };
}

/** The verifier's own test, but not longer than a person waits; then it is closed. */
export async function testVerifier(verifier: EmailVerifier): Promise<ConnectionTest> {
  const late = Promise.withResolvers<ConnectionTest>();
  const message = `The verifier did not answer within ${TEST_TIMEOUT_MS / 1_000} seconds.`;
  const timer = setTimeout(() => late.resolve({ ok: false, message }), TEST_TIMEOUT_MS);
  try {
    return await Promise.race([verifier.test(), late.promise]);
  } catch (error) {
    return { ok: false, message: messageOf(error) };
  } finally {
    clearTimeout(timer);
    // One that hangs is closed in the background.
    void verifier.close().catch(() => undefined);
  }
}

/** A system server may be anywhere; a customer's only at public addresses (decision D44). */
function openVerifier(
  { installation }: Context,
  registration: EmailVerifierRegistration,
  { settings, isSystem }: { readonly settings: DriverSettings; readonly isSystem: boolean },
): EmailVerifier {
  const allowed = installation.outboundAllowHosts;
  const guard = isSystem ? undefined : addressGuard(allowed);
  const verifier = registration.connect(settings, {
    replyTimeoutMs: (registration.replySecondsMax ?? REPLY_SECONDS) * 1_000,
    dnsServers: installation.dnsServers ?? [],
    ...(guard ? { lookup: guard.lookup } : {}),
    openHttp: (origin, { connections, timeoutMs }) =>
      openOutboundPool(origin, { connections, timeoutMs, guard, allowed }),
  });
  return withoutSecrets(
    verifier,
    registration.secretKeys.flatMap((key) => formsOfKey(String(settings[key] ?? ''))),
  );
}

/** Vendors repeat what they did not understand, and whoever uses a system server reads what it says. */
function withoutSecrets(verifier: EmailVerifier, secrets: readonly string[]): EmailVerifier {
  return {
    async verify(addresses, options) {
      try {
        return await verifier.verify(addresses, options);
      } catch (error) {
        const retryAfterSeconds = error instanceof VerifierError ? error.retryAfterSeconds : undefined;
        throw new VerifierError(hideSecrets(messageOf(error), secrets), { retryAfterSeconds });
      }
    },
    async test() {
      const tested = await testOf(verifier);
      return tested.ok ? tested : { ok: false, message: hideSecrets(tested.message, secrets) };
    },
    close: async () => verifier.close(),
  };
}

/** Whatever a plugin does: it may throw before it gives a promise. */
async function testOf(verifier: EmailVerifier): Promise<ConnectionTest> {
  try {
    return await verifier.test();
  } catch (error) {
    return { ok: false, message: messageOf(error) };
  }
}

/** A misspelt name would silently leave a setting at its default. */
function unknownKeys({ type, configKeys }: EmailVerifierRegistration, names: readonly string[]): FieldErrors {
  const message = `There is no such setting for verifiers of type ${type}. Known are: ${configKeys.join(', ') || 'none'}.`;
  return Object.fromEntries(names.filter((name) => !configKeys.includes(name)).map((name) => [name, [message]]));
}
