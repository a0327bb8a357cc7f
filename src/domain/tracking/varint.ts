/** Whole numbers as links carry them: seven bits a byte, lowest first. */
import { assert } from '../../lib/errors.ts';

/** Of 53 bits. */
export const VARINT_BYTES_MAX = 8;

/** Writes `value` at `start` and answers where it ends; arithmetic instead of shifts, because ids outgrow 32 bits. */
export function writeVarint(bytes: Uint8Array, value: number, start: number): number {
  assert(Number.isSafeInteger(value) && value >= 0, 'a link carries whole numbers below 2^53');
  let rest = value;
  let at = start;
  while (rest > 127) {
    bytes[at++] = (rest % 128) | 128;
    rest = Math.floor(rest / 128);
  }
  bytes[at++] = rest;
  return at;
}

/** `count` numbers from `start` on, and where the last of them ends; what is not there is 0. */
export function readVarints(bytes: Uint8Array, start: number, count: number): { values: number[]; end: number } {
  const values: number[] = [];
  let at = start;
  while (values.length < count) {
    const { value, end } = readVarint(bytes, at);
    values.push(value);
    at = end;
  }
  return { values, end: at };
}

function readVarint(bytes: Uint8Array, start: number): { value: number; end: number } {
  let value = 0;
  let scale = 1;
  for (let at = start; ; at++, scale *= 128) {
    const byte = bytes[at] ?? 0;
    value += (byte & 127) * scale;
    if (byte < 128) return { value, end: at + 1 };
  }
}
