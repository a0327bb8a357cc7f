/** Removes secrets from replies of other systems: such replies repeat what they did not understand, and are shown and logged. */
import { withoutTrailing } from './without-trailing.ts';

const HIDDEN = '***';
/** Of base64 (RFC 4648). */
const BITS_PER_LETTER = 6;
/** A shorter piece of base64 may be a coincidence. */
const PIECE_LENGTH_MIN = 8;
/** Fewer matching letters at the end of a cut text are a coincidence. */
const CUT_LENGTH_MIN = 4;

/** `text` without these secrets, and without the beginning of a secret at its end where it was cut. */
export function hideSecrets(text: string, secrets: readonly string[]): string {
  let hidden = text;
  // The longest first: a secret that is part of another one must not break it up.
  for (const secret of secrets.filter(Boolean).toSorted((a, b) => b.length - a.length)) {
    hidden = hidden.replaceAll(secret, HIDDEN);
    const cutLength = cutLengthOf(hidden, secret);
    if (cutLength > 0) hidden = hidden.slice(0, -cutLength) + HIDDEN;
  }
  return hidden;
}

/** The forms in which a login sends a password: as it is, quoted, in base64, and as AUTH PLAIN (RFC 4616). */
export function formsOfPassword({ username, password }: { username: string; password: string }): string[] {
  const plain = `\0${username}\0${password}`;
  return [
    password,
    password.replace(/["\\]/g, String.raw`\$&`),
    base64(password),
    base64(plain),
    base64(`${username}${plain}`),
  ];
}

/**
 * The forms in which a request carries a key: as it is, quoted, percent-encoded in an address or a form, in base64, and as the part of a
 * longer base64 text that it determines, such as Basic authentication with any user name (RFC 7617).
 */
export function formsOfKey(key: string): string[] {
  const encoded = [encodeURIComponent(key.toWellFormed()), new URLSearchParams({ '': key }).toString().slice(1)];
  const small = encoded.map((form) => form.replace(/%[\dA-F]{2}/g, (code) => code.toLowerCase()));
  const inBase64 = [base64(key), ...[0, 1, 2].map((before) => base64Piece(key, before))];
  return [
    ...[key, key.replace(/["\\]/g, String.raw`\$&`), JSON.stringify(key).slice(1, -1)],
    ...[...encoded, ...small],
    ...[...inBase64, ...inBase64.map(inAddress)].filter((form) => form.length >= PIECE_LENGTH_MIN),
  ];
}

/** What base64 makes of `text` after so many other bytes: only the letters that depend on nothing else. */
function base64Piece(text: string, bytesBefore: number): string {
  const bytes = Buffer.concat([Buffer.alloc(bytesBefore), Buffer.from(text)]);
  const determined = Math.floor((bytes.length * 8) / BITS_PER_LETTER);
  return bytes.toString('base64').slice(Math.ceil((bytesBefore * 8) / BITS_PER_LETTER), determined);
}

/** RFC 4648 5. */
function inAddress(form: string): string {
  return withoutTrailing(form.replaceAll('+', '-').replaceAll('/', '_'), /=/);
}

function cutLengthOf(text: string, secret: string): number {
  for (let length = Math.min(text.length, secret.length - 1); length >= CUT_LENGTH_MIN; length--)
    if (text.endsWith(secret.slice(0, length))) return length;
  return 0;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
