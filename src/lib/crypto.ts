/**
 * The cryptography of the product. Tokens are stored as SHA-256 only (they are random, so a plain digest is enough); credentials
 * of sending servers are encrypted with AES-256-GCM; links in mails are signed with HMAC. Every purpose derives its own key from
 * the installation's secret (HKDF, RFC 5869).
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hash,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The 32-byte key for one purpose, from the installation's secret. */
export function deriveKey(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));
}

export function sha256(value: string | Uint8Array): Buffer {
  return createHash('sha256').update(value).digest();
}

/** HMAC-SHA-256, cut to `bytes` (16 = 128 bits is ample for a link that is checked online). */
export function mac(key: Uint8Array | KeyObject, value: string | Uint8Array, bytes = 16): Buffer {
  return createHmac('sha256', key).update(value).digest().subarray(0, bytes);
}

/** A MAC as text; with `binary`, one character per byte. */
export type Mac = (content: Uint8Array, encoding: 'binary' | 'base64url') => string;

/**
 * HMAC (RFC 2104) for hot paths: two one-shot digests need a fifth of the objects that `createHmac` makes. The key has at most 64
 * bytes, a block of SHA-256.
 */
export function createMac(algorithm: 'sha256' | 'sha512', key: Uint8Array): Mac {
  const blockBytes = algorithm === 'sha256' ? 64 : 128;
  const digestBytes = blockBytes / 2;
  const block = Buffer.concat([key, Buffer.alloc(blockBytes - key.length)]);
  const outer = Buffer.concat([block.map((byte) => byte ^ 0x5c), Buffer.alloc(digestBytes)]);
  let inner = Buffer.from(block.map((byte) => byte ^ 0x36));
  return (content, encoding) => {
    const end = blockBytes + content.length;
    if (end > inner.length) inner = Buffer.concat([inner, Buffer.alloc(end)]);
    inner.set(content, blockBytes);
    outer.write(hash(algorithm, inner.subarray(0, end), 'binary'), blockBytes, 'latin1');
    return hash(algorithm, outer, encoding);
  };
}

/** AES-256 on whole blocks of 16 bytes. */
export interface BlockCipher {
  /** One character per byte. */
  encrypt(blocks: Uint8Array): string;
  decrypt(blocks: Uint8Array): Buffer;
}

/**
 * Hides short values such as ids: without the key one can only see whether two blocks are equal. It does not protect against
 * changes; a MAC does.
 */
export function createBlockCipher(key: Uint8Array): BlockCipher {
  // Blocks of this mode are independent of each other, so one object serves all.
  const cipher = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false);
  const decipher = createDecipheriv('aes-256-ecb', key, null).setAutoPadding(false);
  return {
    encrypt: (blocks) => cipher.update(blocks, undefined, 'latin1'),
    decrypt: (blocks) => decipher.update(blocks),
  };
}

/** Compares two digests in time that does not depend on where they differ. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.byteLength === b.byteLength && timingSafeEqual(a, b);
}

/** Encrypts a text: nonce, ciphertext, tag. `context` is authenticated, so an encrypted value works in its own row only. */
export function seal(key: Uint8Array, plaintext: string, context: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context));
  return Buffer.concat([nonce, cipher.update(plaintext, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

/** Decrypts what `seal` made; throws when the key, the context or a byte differs. */
export function unseal(key: Uint8Array, sealed: Uint8Array, context: string): string {
  const bytes = Buffer.from(sealed);
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES)).setAAD(Buffer.from(context));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString('utf8');
}
