/**
 * The few cryptographic acts of the product. Tokens are kept as SHA-256 only (they are random, so a plain digest
 * is enough); credentials of sending servers are sealed with AES-256-GCM; what stands in mails is signed with
 * HMAC-SHA-256, links with a tag of one digest. Every purpose derives its own key from the installation's secret (HKDF, RFC 5869).
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hash,
  hkdfSync,
  KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Letters of a tag: 132 bits. */
export const TAG_LENGTH = 22;
/** SHA-256's block and digest. */
const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
/** In UTF-16 units or bytes: a link's token is shorter. Room for three bytes a unit is kept. */
const SHORT_VALUE_MAX = 4_096;

const pads = new WeakMap<KeyObject, Pads>();
/** Filled and read within one call, so one is enough for the process. */
const scratch = Buffer.alloc(BLOCK_BYTES + 3 * SHORT_VALUE_MAX);

/** The 32-byte key for one purpose, from the installation's secret. */
export function deriveKey(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));
}

export function sha256(value: string | Uint8Array): Buffer {
  return createHash('sha256').update(value).digest();
}

/**
 * HMAC-SHA-256, cut to `bytes` (16 = 128 bits is ample for a link that is checked online). In hot paths give a KeyObject:
 * what depends on the key alone is then kept, and a short value costs two digests in one call each.
 */
export function mac(key: Uint8Array | KeyObject, value: string | Uint8Array, bytes = 16): Buffer {
  if (!(key instanceof KeyObject) || value.length > SHORT_VALUE_MAX)
    return createHmac('sha256', key).update(value).digest().subarray(0, bytes);
  return Buffer.from(shortMac(key, value, 'binary').slice(0, bytes), 'latin1');
}

/** `mac` as text: all 64 digits, to be cut. */
export function hexMac(key: KeyObject, value: string): string {
  return value.length > SHORT_VALUE_MAX ? mac(key, value, DIGEST_BYTES).toString('hex') : shortMac(key, value, 'hex');
}

/** A digest as a string is what the runtime gives at the least cost; `binary` has a letter for each byte. */
function shortMac(key: KeyObject, value: string | Uint8Array, encoding: 'binary' | 'hex'): string {
  const { inner, outer } = padsOf(key);
  inner.copy(scratch);
  const end = BLOCK_BYTES + (typeof value === 'string' ? scratch.write(value, BLOCK_BYTES) : copyInto(scratch, value));
  outer.write(hash('sha256', scratch.subarray(0, end), 'binary'), BLOCK_BYTES, 'latin1');
  return hash('sha256', outer, encoding);
}

interface Pads {
  readonly inner: Buffer;
  /** With room for the inner digest behind the pad. */
  readonly outer: Buffer;
}

/** RFC 2104: the key, filled up to a block, under two masks. Ours are shorter than a block. */
function padsOf(key: KeyObject): Pads {
  const known = pads.get(key);
  if (known) return known;
  const bytes = key.export();
  if (bytes.length > BLOCK_BYTES) throw new Error('A key for a MAC has at most 64 bytes');
  const block = Buffer.concat([bytes, Buffer.alloc(BLOCK_BYTES - bytes.length)]);
  const made = {
    inner: Buffer.from(block.map((byte) => byte ^ 0x36)),
    outer: Buffer.concat([block.map((byte) => byte ^ 0x5c), Buffer.alloc(DIGEST_BYTES)]),
  };
  pads.set(key, made);
  return made;
}

function copyInto(target: Buffer, value: Uint8Array): number {
  target.set(value, BLOCK_BYTES);
  return value.length;
}

/**
 * A MAC for hot paths that costs one digest: SHA-256 of the key and the content behind it, in base64url, of which half
 * is shown: 132 bits. Why that is one: docs/decisions/0130.
 */
export class TagMaker {
  /** Where the content is written that a tag is made of. */
  readonly content: Buffer;
  readonly #keyed: Buffer;

  constructor(key: Uint8Array, contentBytesMax: number) {
    if (key.length !== DIGEST_BYTES) throw new Error('A key for tags has 32 bytes');
    this.#keyed = Buffer.concat([key, Buffer.alloc(contentBytesMax)]);
    this.content = this.#keyed.subarray(DIGEST_BYTES);
  }

  /** Tag of the first `length` bytes of the content: TAG_LENGTH letters. */
  tag(length: number): string {
    return hash('sha256', this.#keyed.subarray(0, DIGEST_BYTES + length), 'base64url').slice(0, TAG_LENGTH);
  }
}

/** What `eightTags` makes at once. */
export const TAGS_AT_ONCE = 8;
/** Eight times 132 bits are 176 letters, and one block of the function. */
const EIGHT_TAGS = { outputEncoding: 'base64url', outputLength: 132 } as const;
const isOneCall = canLengthen();

/**
 * Eight independent tags for one digest, TAG_LENGTH letters each: SHAKE256 of a key and the content behind it. Nothing of
 * a digest of SHA-3 can be continued, so a key in front makes a MAC (KMAC is no more than that).
 */
export function eightTags(keyedContent: Uint8Array): string {
  if (isOneCall) return hash('shake256', keyedContent, EIGHT_TAGS);
  const { outputLength, outputEncoding } = EIGHT_TAGS;
  return createHash('shake256', { outputLength }).update(keyedContent).digest(outputEncoding);
}

/** Since Node 24.4; on macOS Node 22 may run this. */
function canLengthen(): boolean {
  try {
    return hash('shake256', '', EIGHT_TAGS).length === TAGS_AT_ONCE * TAG_LENGTH;
  } catch {
    return false;
  }
}

/** Compares two digests in time that does not depend on where they differ. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.byteLength === b.byteLength && timingSafeEqual(a, b);
}

/** Seals a text: nonce, ciphertext, tag. `context` is bound in, so that a sealed value works in its own row only. */
export function seal(key: Uint8Array, plaintext: string, context: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context));
  return Buffer.concat([nonce, cipher.update(plaintext, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

/** Opens what `seal` made; throws when the key, the context or a byte is another. */
export function unseal(key: Uint8Array, sealed: Uint8Array, context: string): string {
  const bytes = Buffer.from(sealed);
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES)).setAAD(Buffer.from(context));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString('utf8');
}
