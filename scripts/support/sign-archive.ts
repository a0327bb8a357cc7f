/** Ed25519 keys (RFC 8032) and signatures of archives, as an installation checks them (src/lib/signature.ts). */
import { createPrivateKey, createPublicKey, sign, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { ToolError } from './tool-error.ts';

export interface Signed {
  /** In base64. */
  readonly signature: string;
  /** As PLUGIN_KEYS and RELEASE_KEYS have it. */
  readonly publicKey: string;
}

/** Signs it with the private key (PEM) in a file. `advice` says how to make one. Throws ToolError. */
export async function signArchive(
  archive: Uint8Array,
  { keyFile, advice }: { readonly keyFile: string; readonly advice: string },
): Promise<Signed> {
  const text = await readFile(keyFile, 'utf8').catch(() => {
    throw new ToolError(`There is no file ${keyFile}. Make a key: ${advice}`);
  });
  const key = privateKeyIn(text);
  if (key?.asymmetricKeyType !== 'ed25519') throw new ToolError(`${keyFile} is no Ed25519 key. Make one: ${advice}`);
  return { signature: sign(null, archive, key).toString('base64'), publicKey: publicKeyOf(key) };
}

/** Its public key: 32 bytes in base64. */
export function publicKeyOf(key: KeyObject): string {
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
  return Buffer.from(x, 'base64url').toString('base64');
}

function privateKeyIn(text: string): KeyObject | undefined {
  try {
    return createPrivateKey(text);
  } catch {
    return undefined;
  }
}
