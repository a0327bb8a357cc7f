/** Stored credentials of sending servers: encrypted with the installation's secret, bound to their own row. */
import { deriveKey, seal, unseal } from '../../lib/crypto.ts';
import type { DriverSettings } from '../../plugin-api/index.ts';
import { z } from 'zod';

const KEY_PURPOSE = 'sending-server';
const settingsSchema = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));

/** Encrypts the secret settings of the server with this uid. */
export function sealSecrets(installationSecret: string, serverUid: string, secrets: DriverSettings): Buffer {
  return seal(deriveKey(installationSecret, KEY_PURPOSE), JSON.stringify(secrets), serverUid);
}

/** The opposite of `sealSecrets`; throws when the installation's secret is another one. */
export function unsealSecrets(
  installationSecret: string,
  serverUid: string,
  sealed: Uint8Array | null,
): DriverSettings {
  if (sealed === null) return {};
  return settingsSchema.parse(JSON.parse(unseal(deriveKey(installationSecret, KEY_PURPOSE), sealed, serverUid)));
}

/** Settings of the public column, checked. */
export function parsePublicSettings(value: unknown): DriverSettings {
  return settingsSchema.parse(value);
}
