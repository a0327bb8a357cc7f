/** Ordinary values of fields, byte by byte: what `fieldValueFault` takes and JSON writes without escapes. */
const SPACE = 0x20;
const QUOTE = 0x22;
const APOSTROPHE = 0x27;
const HYPHEN = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const DELETE = 0x7f;

/** Far inside what a number may have. */
const NUMBER_BYTES_MAX = 15;
const DATE_BYTES = 10;
const DATE_TIME_BYTES = 19;
/** Every month has these; the calendar is the long way's business. */
const DAYS_SURE = 28;

/** Well-formed UTF-8 without controls, quotes, backslashes and U+FFFD; no apostrophe or blank before it. */
export function isUsualText(bytes: Uint8Array, start: number, stop: number): boolean {
  const first = bytes[start] ?? 0;
  if (first === APOSTROPHE || first <= SPACE) return false;
  for (let at = start; at < stop; at++) {
    const byte = bytes[at] ?? 0;
    if (byte < SPACE || byte === QUOTE || byte === BACKSLASH || byte === DELETE) return false;
    // U+F000 to U+FFFF; among them what a broken letter was turned into, and blanks of no width.
    if (byte === 0xef) return false;
  }
  return first < 0x80 || !isBlank(bytes, start);
}

/** Letters that look like nothing (U+00A0, U+1680, U+2000 to U+206F, U+3000): a text of them alone is no value. */
function isBlank(bytes: Uint8Array, at: number): boolean {
  const [a = 0, b = 0, c = 0] = [bytes[at], bytes[at + 1], bytes[at + 2]];
  return (
    (a === 0xc2 && b <= 0xa0) ||
    (a === 0xe1 && b === 0x9a) ||
    (a === 0xe2 && b <= 0x81) ||
    (a === 0xe3 && b === 0x80 && c === 0x80)
  );
}

/** Digits, perhaps with a sign before and a point among them. */
export function isUsualNumber(bytes: Uint8Array, start: number, stop: number): boolean {
  if (stop - start > NUMBER_BYTES_MAX) return false;
  let points = 0;
  let at = bytes[start] === HYPHEN ? start + 1 : start;
  if (!isDigit(bytes[at]) || !isDigit(bytes[stop - 1])) return false;
  for (; at < stop; at++) {
    if (bytes[at] === DOT) points++;
    else if (!isDigit(bytes[at])) return false;
  }
  return points <= 1;
}

/** `2026-12-28` or `2026-12-28 23:59:59`. */
export function isUsualDateTime(bytes: Uint8Array, start: number, stop: number): boolean {
  const length = stop - start;
  if (length !== DATE_BYTES && length !== DATE_TIME_BYTES) return false;
  const isDate =
    bytes[start + 4] === HYPHEN &&
    bytes[start + 7] === HYPHEN &&
    twoDigits(bytes, start) > 0 &&
    twoDigits(bytes, start + 2) >= 0;
  if (
    !isDate ||
    !isBetween(twoDigits(bytes, start + 5), 1, 12) ||
    !isBetween(twoDigits(bytes, start + 8), 1, DAYS_SURE)
  )
    return false;
  if (length === DATE_BYTES) return true;
  const isTime = bytes[start + 10] === SPACE && bytes[start + 13] === COLON && bytes[start + 16] === COLON;
  return (
    isTime &&
    isBetween(twoDigits(bytes, start + 11), 0, 23) &&
    isBetween(twoDigits(bytes, start + 14), 0, 59) &&
    isBetween(twoDigits(bytes, start + 17), 0, 59)
  );
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

/** -1 when they are none. */
function twoDigits(bytes: Uint8Array, at: number): number {
  const [tens = 0, ones = 0] = [bytes[at], bytes[at + 1]];
  return isDigit(tens) && isDigit(ones) ? (tens - ZERO) * 10 + ones - ZERO : -1;
}

function isBetween(value: number, low: number, high: number): boolean {
  return value >= low && value <= high;
}
