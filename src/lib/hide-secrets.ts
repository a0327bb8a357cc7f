/** Removes secrets from replies of other systems: such replies repeat what they did not understand, and are shown and logged. */

const HIDDEN = '***';
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

function cutLengthOf(text: string, secret: string): number {
  for (let length = Math.min(text.length, secret.length - 1); length >= CUT_LENGTH_MIN; length--)
    if (text.endsWith(secret.slice(0, length))) return length;
  return 0;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
