/** Whole numbers in the form for links: seven bits per byte, lowest first. */
import { assert } from '../../lib/errors.ts';

/** Of 53 bits. */
export const VARINT_BYTES_MAX = 8;

/** Writes `values` from `start` on and returns where they end; arithmetic instead of shifts, because ids exceed 32 bits. */
export function writeVarints(bytes: Uint8Array, values: readonly (number | bigint)[], start: number): number {
  let at = start;
  for (const value of values) {
    let rest = Number(value);
    assert(Number.isSafeInteger(rest) && rest >= 0, 'a link carries whole numbers below 2^53');
    for (; rest > 127; rest = Math.floor(rest / 128)) bytes[at++] = (rest % 128) | 128;
    bytes[at++] = rest;
  }
  return at;
}

/** `count` numbers from `start` on, and where the last of them ends; missing ones are 0. */
export function readVarints(bytes: Uint8Array, start: number, count: number): { values: number[]; end: number } {
  const values: number[] = [];
  let at = start;
  while (values.length < count) {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 127) * scale;
      if (byte < 128) break;
    }
    values.push(value);
  }
  return { values, end: at };
}
