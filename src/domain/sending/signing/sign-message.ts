/**
 * DKIM signatures (RFC 6376, RFC 8463) of messages as they are handed over. Signing is what costs (0.3 ms of a core
 * with RSA-2048), so it happens in the threads of libuv's pool (UV_THREADPOOL_SIZE); hashing stays here.
 */
import { sign, type KeyObject } from 'node:crypto';
import { takeBlock } from '../../../lib/blocks.ts';
import { sha256 } from '../../../lib/crypto.ts';
import { canonicalMessage, relaxedValue, type CanonicalFields } from './canonical-message.ts';

export const dkimAlgorithms = ['rsa-sha256', 'ed25519-sha256'] as const;
export type DkimAlgorithm = (typeof dkimAlgorithms)[number];

export interface DkimKey {
  readonly selector: string;
  readonly algorithm: DkimAlgorithm;
  readonly privateKey: KeyObject;
}

export interface DkimIdentity {
  /** The signing domain (`d=`), in ASCII. */
  readonly domain: string;
  /** A signature by each; receivers ignore those they do not know. */
  readonly keys: readonly DkimKey[];
}

/**
 * Signed wherever they stand, and once more than they stand there: nobody can add another From, or a way to
 * unsubscribe of his own, without breaking the signature.
 */
const SEALED = [
  ...['from', 'to', 'cc', 'subject', 'date', 'message-id', 'reply-to', 'list-unsubscribe', 'list-unsubscribe-post'],
  ...['mime-version', 'content-type', 'content-transfer-encoding'],
];
/** Signed where they stand; mailing lists may put their own into what had none. */
const SIGNED = ['sender', 'in-reply-to', 'references', 'list-id', 'feedback-id'];
/** RFC 5322 2.1.1: a line should stay within 78 characters. */
const LINE_LENGTH = 76;

/** The signature fields of a message, each with its line end, to be put before its first byte. */
export async function signatureFields(
  content: Uint8Array,
  { domain, keys }: DkimIdentity,
  signedAt: Date,
): Promise<string> {
  const { fields, bodyHash } = canonicalMessage(content);
  const { names, text } = signedPart(fields);
  const seconds = Math.floor(signedAt.getTime() / 1_000);
  const fieldOf = async (key: DkimKey): Promise<string> => {
    const tags = `v=1; a=${key.algorithm}; c=relaxed/relaxed;\r\n d=${domain}; s=${key.selector}; t=${seconds};`;
    const field = `DKIM-Signature: ${tags}\r\n h=${foldNames(names)};\r\n bh=${bodyHash};\r\n b=`;
    const own = `dkim-signature:${relaxedValue(field.slice(field.indexOf(':') + 1))}`;
    return `${field}${foldBase64(await signatureOf(key, text + own))}\r\n`;
  };
  return (await Promise.all(keys.map(fieldOf))).join('');
}

/** The message with its signatures: the only copy that is made of it. */
export async function signMessage(content: Uint8Array, identity: DkimIdentity, signedAt: Date): Promise<Buffer> {
  const fields = await signatureFields(content, identity, signedAt);
  const signed = takeBlock(fields.length + content.byteLength);
  signed.write(fields, 0, 'latin1');
  signed.set(content, fields.length);
  return signed.subarray(0, fields.length + content.byteLength);
}

function signedPart(fields: CanonicalFields): { names: string[]; text: string } {
  const names: string[] = [];
  let text = '';
  const addAll = (name: string): void => {
    for (const field of fields.get(name) ?? []) {
      names.push(name);
      text += field;
    }
  };
  for (const name of SEALED) {
    addAll(name);
    names.push(name);
  }
  SIGNED.forEach(addAll);
  return { names, text };
}

function signatureOf({ algorithm, privateKey }: DkimKey, text: string): Promise<Buffer> {
  const data = Buffer.from(text, 'latin1');
  return new Promise((resolve, reject) => {
    const settle = (error: Error | null, signature: Buffer): void => (error ? reject(error) : resolve(signature));
    // RFC 8463 3: Ed25519 signs the SHA-256 of what RSA would sign.
    if (algorithm === 'ed25519-sha256') sign(null, sha256(data), privateKey, settle);
    else sign('sha256', data, privateKey, settle);
  });
}

function foldNames(names: readonly string[]): string {
  const key = names.join(':');
  const known = foldedNames.get(key);
  if (known !== undefined) return known;
  let folded = '';
  let column = 3;
  for (const [index, name] of names.entries()) {
    const word = index === names.length - 1 ? name : `${name}:`;
    const isFull = column + word.length > LINE_LENGTH;
    folded += isFull ? `\r\n ${word}` : word;
    column = isFull ? word.length + 1 : column + word.length;
  }
  if (foldedNames.size < FOLDED_MAX) foldedNames.set(key, folded);
  return folded;
}

/** Messages come with a handful of sets of header fields. */
const FOLDED_MAX = 100;
const foldedNames = new Map<string, string>();

function foldBase64(signature: Buffer): string {
  const text = signature.toString('base64');
  let folded = text.slice(0, LINE_LENGTH - 3);
  for (let at = folded.length; at < text.length; at += LINE_LENGTH - 1)
    folded += `\r\n ${text.slice(at, at + LINE_LENGTH - 1)}`;
  return folded;
}
