/** Secrets of webhooks: made, stored encrypted, and as the keys of signatures. */
import { randomBytes } from 'node:crypto';
import { deriveKey, seal, unseal } from '../../lib/crypto.ts';

/** A shorter one can be guessed from one signature. */
export const SECRET_LENGTH_MIN = 24;
export const SECRET_LENGTH_MAX = 200;
/** The beginning of secrets in Standard Webhooks: what follows is the key in base64. */
const PREFIX = 'whsec_';
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const KEY_BYTES = 32;

export function newWebhookSecret(): string {
  return PREFIX + randomBytes(KEY_BYTES).toString('base64');
}

let known: { readonly secret: string; readonly key: Buffer } | undefined;

/** Made once: deriving it costs as much as the signatures of a delivery. */
function keyOf(installationSecret: string): Buffer {
  if (known?.secret !== installationSecret)
    known = { secret: installationSecret, key: deriveKey(installationSecret, 'webhook') };
  return known.key;
}

/** Bound to the webhook with this uid. */
export function sealWebhookSecret(installationSecret: string, uid: string, secret: string): Buffer {
  return seal(keyOf(installationSecret), secret, uid);
}

/** The opposite; throws when the installation's secret is another one. */
export function unsealWebhookSecret(installationSecret: string, uid: string, sealed: Uint8Array): string {
  return unseal(keyOf(installationSecret), sealed, uid);
}

/** The key of Standard Webhooks' signature. A secret that is not in their form is the key as it is. */
export function standardKey(secret: string): Buffer {
  const encoded = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : '';
  return BASE64.test(encoded) ? Buffer.from(encoded, 'base64') : Buffer.from(secret);
}
