/** Ed25519 signatures (RFC 8032) by keys that the operator trusts. */
import { createPublicKey, verify } from 'node:crypto';

/** A public key is written as its 32 bytes in base64. */
export const PUBLIC_KEY_PATTERN = /^[A-Za-z0-9+/]{43}=$/;
/** A signature has 64 bytes. */
export const SIGNATURE_PATTERN = /^[A-Za-z0-9+/]{86}==$/;
/** What stands before the bytes of the key in the form that Node reads (RFC 8410). */
const KEY_HEADER = Buffer.from('302a300506032b6570032100', 'hex');

/** Whether one of the keys has signed these bytes. */
export function isSignedBy(keys: readonly string[], bytes: Uint8Array, signature: string): boolean {
  if (!SIGNATURE_PATTERN.test(signature)) return false;
  const signed = Buffer.from(signature, 'base64');
  return keys.some((key) => verify(null, bytes, publicKey(key), signed));
}

function publicKey(text: string) {
  const key = Buffer.concat([KEY_HEADER, Buffer.from(text, 'base64')]);
  return createPublicKey({ key, format: 'der', type: 'spki' });
}
