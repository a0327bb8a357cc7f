/** Stored credentials of servers: encrypted with the installation's secret, bound to their own row. */
import { deriveKey, seal, unseal } from '../../lib/crypto.ts';
import type { DriverSettings } from '../../plugin-api/index.ts';
import { z } from 'zod';

/** What a key is derived for: a text that was sealed for one purpose opens for no other. */
export type SecretsOf = 'sending-server' | 'email-verification-server';
const settingsSchema = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));

/** Encrypts the secret settings of the server with this uid. */
export function sealSecrets(
  installationSecret: string,
  serverUid: string,
  secrets: DriverSettings,
  of: SecretsOf = 'sending-server',
): Buffer {
  return seal(deriveKey(installationSecret, of), JSON.stringify(secrets), serverUid);
}

/** The opposite of `sealSecrets`; throws when the installation's secret is another one. */
export function unsealSecrets(
  installationSecret: string,
  serverUid: string,
  sealed: Uint8Array | null,
  of: SecretsOf = 'sending-server',
): DriverSettings {
  if (sealed === null) return {};
  return settingsSchema.parse(JSON.parse(unseal(deriveKey(installationSecret, of), sealed, serverUid)));
}

/** Settings of the public column, checked. */
export function parsePublicSettings(value: unknown): DriverSettings {
  return settingsSchema.parse(value);
}

/** The settings without the secret ones, and these. */
export function divideSettings(
  { secretKeys }: { readonly secretKeys: readonly string[] },
  all: DriverSettings,
): { readonly settings: DriverSettings; readonly secrets: DriverSettings } {
  const isSecret = ([key]: [string, unknown]) => secretKeys.includes(key);
  const entries = Object.entries(all);
  return {
    settings: Object.fromEntries(entries.filter((entry) => !isSecret(entry))),
    secrets: Object.fromEntries(entries.filter(isSecret)),
  };
}
