/** The DKIM signatures of a message (RFC 6376, RFC 8463). Those of Ed25519 are made in the calling thread. */
import { hash, sign } from 'node:crypto';
import { promisify } from 'node:util';
import { canonicalMessage, type CanonicalFields } from './canonical-message.ts';
import type { DkimIdentity, DkimKey } from './dkim-identity.ts';

/**
 * Signed at every occurrence, and once more: nobody can add another From, or an unsubscribe link, without breaking the signature.
 */
const SEALED = [
  ...['from', 'to', 'cc', 'subject', 'date', 'message-id', 'reply-to', 'list-unsubscribe', 'list-unsubscribe-post'],
  ...['mime-version', 'content-type', 'content-transfer-encoding'],
];
/** Signed if they are there; mailing lists may add their own to messages without them. */
const SIGNED = ['sender', 'in-reply-to', 'references', 'list-id', 'feedback-id'];
/** RFC 5322 2.1.1: a line should stay within 78 characters. */
const LINE_LENGTH = 76;
const FOLD = '\r\n ';

/** The signature fields of a message, each with its line end, to be put before its first byte. */
export async function signatureFields(
  content: Buffer,
  { domain, keys }: DkimIdentity,
  signedAt: Date,
): Promise<string> {
  const { fields, bodyHash } = canonicalMessage(content);
  const { names, text } = signedPart(fields);
  const seconds = Math.floor(signedAt.getTime() / 1_000);
  const fieldOf = async (key: DkimKey): Promise<string> => {
    const tags = `v=1; a=${key.algorithm}; c=relaxed/relaxed;${FOLD}d=${domain}; s=${key.selector}; t=${seconds};`;
    const value = `${tags}${FOLD}h=${foldNames(names)};${FOLD}bh=${bodyHash};${FOLD}b=`;
    // The folds at single spaces are unfolded again, which is the relaxed form (RFC 6376 3.4.2).
    const signature = await signatureOf(key, `${text}dkim-signature:${value.replaceAll(FOLD, ' ')}`);
    return `DKIM-Signature: ${value}${foldBase64(signature.toString('base64'))}\r\n`;
  };
  return (await Promise.all(keys.map(fieldOf))).join('');
}

function signedPart(fields: CanonicalFields): { names: string; text: string } {
  let names = '';
  let text = '';
  const addAll = (name: string): void => {
    for (const field of fields.get(name) ?? []) {
      names += `${name}:`;
      text += field;
    }
  };
  for (const name of SEALED) {
    addAll(name);
    names += `${name}:`;
  }
  SIGNED.forEach(addAll);
  return { names: names.slice(0, -1), text };
}

const signInPool = promisify(sign);

/**
 * RSA is passed to libuv's pool, which has all cores. For Ed25519 that would cost half of the work, so it is done at once; it
 * signs the SHA-256 of what RSA would sign (RFC 8463 3).
 */
function signatureOf({ algorithm, privateKey }: DkimKey, text: string): Buffer | Promise<Buffer> {
  const data = Buffer.from(text, 'latin1');
  if (algorithm === 'ed25519-sha256') return sign(null, hash('sha256', data, 'buffer'), privateKey);
  return signInPool('sha256', data, privateKey);
}

function foldNames(names: string): string {
  const known = foldedNames.get(names);
  if (known !== undefined) return known;
  let folded = '';
  let column = 3;
  for (const word of names.split(/(?<=:)/)) {
    const isFull = column + word.length > LINE_LENGTH;
    folded += isFull ? FOLD + word : word;
    column = isFull ? word.length + 1 : column + word.length;
  }
  if (foldedNames.size < FOLDED_MAX) foldedNames.set(names, folded);
  return folded;
}

/** Messages have few different sets of header fields. */
const FOLDED_MAX = 100;
const foldedNames = new Map<string, string>();

function foldBase64(signature: string): string {
  let folded = signature.slice(0, LINE_LENGTH - 3);
  for (let at = folded.length; at < signature.length; at += LINE_LENGTH - 1)
    folded += `${FOLD}${signature.slice(at, at + LINE_LENGTH - 1)}`;
  return folded;
}
