/** Ordinary addresses, byte by byte: what `isEmailAddress` takes at first glance, and nothing else. */

/** RFC 5321, 4.5.3.1. */
const LOCAL_PART_BYTES_MAX = 64;
const DOMAIN_LABEL_BYTES_MAX = 63;
const TOP_LABEL_BYTES_MIN = 2;

const TAB = 0x09;
const DOT = 0x2e;
const HYPHEN = 0x2d;
const AT = 0x40;

const LETTER = 1;
const DIGIT = 2;
/** Further bytes of a local part: _ + and the hyphen. */
const SIGN = 4;

const kinds = new Uint8Array(256);
for (let byte = 0x61; byte <= 0x7a; byte++) kinds[byte] = kinds[byte - 0x20] = LETTER;
for (let byte = 0x30; byte <= 0x39; byte++) kinds[byte] = DIGIT;
for (const byte of [0x5f, 0x2b, HYPHEN]) kinds[byte] = SIGN;

export interface AddressCopy {
  readonly source: Uint8Array;
  readonly start: number;
  readonly stop: number;
  readonly target: Uint8Array;
  /** Where the copy goes. */
  readonly at: number;
}

/**
 * Writes the address as it stands, a tab, and the address in lower case (its key). Answers where the key begins, or 0
 * when the address is out of the ordinary.
 */
export function copyUsualAddress({ source, start, stop, target, at }: AddressCopy): number {
  if (!isUsualAddress(source, start, stop)) return 0;
  const length = stop - start;
  const keyStart = at + length + 1;
  target[at + length] = TAB;
  for (let index = 0; index < length; index++) {
    const byte = source[start + index] ?? 0;
    target[at + index] = byte;
    target[keyStart + index] = byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
  }
  return keyStart;
}

function isUsualAddress(bytes: Uint8Array, start: number, stop: number): boolean {
  let at = start;
  let before = DOT;
  for (; at < stop && bytes[at] !== AT; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === DOT ? before === DOT : kinds[byte] === 0) return false;
    before = byte;
  }
  if (before === DOT || at - start > LOCAL_PART_BYTES_MAX) return false;
  return isUsualDomain(bytes, at + 1, stop);
}

/** Labels of letters, digits and single hyphens inside; the last one of letters. */
function isUsualDomain(bytes: Uint8Array, start: number, stop: number): boolean {
  let labelStart = start;
  let labels = 0;
  let isAlphabetic = true;
  let before = DOT;
  for (let at = start; at < stop; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === DOT) {
      if (before === DOT || before === HYPHEN || at - labelStart > DOMAIN_LABEL_BYTES_MAX) return false;
      labels++;
      labelStart = at + 1;
      isAlphabetic = true;
    } else if (byte === HYPHEN) {
      if (before === DOT || before === HYPHEN) return false;
      isAlphabetic = false;
    } else {
      const kind = kinds[byte];
      if (kind !== LETTER && kind !== DIGIT) return false;
      if (kind === DIGIT) isAlphabetic = false;
    }
    before = byte;
  }
  const top = stop - labelStart;
  return labels > 0 && isAlphabetic && top >= TOP_LABEL_BYTES_MIN && top <= DOMAIN_LABEL_BYTES_MAX;
}
