/** DKIM keys: made here, stored encrypted with the installation's secret, published as a TXT record. */
import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { deriveKey, seal, unseal } from '../../../lib/crypto.ts';
import type { DkimAlgorithm } from './dkim-identity.ts';

/** Every receiver verifies these (RFC 8301 3.2); 4096 bits would cost seven times as much and do not fit into all DNS forms. */
const RSA_BITS = 2_048;
const KEY_PURPOSE = 'dkim-key';
const make = promisify(generateKeyPair);

export interface NewDkimKey {
  /** The value after `p=` in DNS. */
  readonly publicKey: string;
  readonly sealedPrivateKey: Buffer;
}

/** Makes a key of the algorithm; its private half is bound to the unique selector. */
export async function makeDkimKey(secret: string, selector: string, algorithm: DkimAlgorithm): Promise<NewDkimKey> {
  const { privateKey } =
    algorithm === 'rsa-sha256' ? await make('rsa', { modulusLength: RSA_BITS }) : await make('ed25519');
  const der = privateKey.export({ type: 'pkcs8', format: 'der' });
  return {
    publicKey: publicKeyOf(privateKey, algorithm),
    sealedPrivateKey: seal(deriveKey(secret, KEY_PURPOSE), der.toString('base64'), selector),
  };
}

/** The private key of this selector; throws when it was encrypted with another secret or for another selector. */
export function openDkimKey(secret: string, selector: string, sealed: Uint8Array): KeyObject {
  const der = unseal(deriveKey(secret, KEY_PURPOSE), sealed, selector);
  return createPrivateKey({ key: Buffer.from(der, 'base64'), type: 'pkcs8', format: 'der' });
}

/** The value of the TXT record at `<selector>._domainkey.<domain>` (RFC 6376 3.6.1, RFC 8463 4.2). */
export function dkimRecord({ algorithm, publicKey }: { algorithm: DkimAlgorithm; publicKey: string }): string {
  return `v=DKIM1; k=${algorithm === 'rsa-sha256' ? 'rsa' : 'ed25519'}; p=${publicKey}`;
}

function publicKeyOf(privateKey: KeyObject, algorithm: DkimAlgorithm): string {
  const publicKey = createPublicKey(privateKey);
  if (algorithm === 'rsa-sha256') return publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
  // RFC 8463 4.2: the bare 32 bytes.
  return Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url').toString('base64');
}
