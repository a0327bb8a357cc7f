/**
 * The 64-bit hash that PostgreSQL calls `hashtextextended(text, seed)`: Bob Jenkins' lookup3, so that both sides can say in
 * eight bytes what a text is. Spreads well; resists nobody who wants collisions.
 */

/** Bytes that are mixed in at once. */
const BLOCK = 12;

const rotated = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits));

/** A stretch of bytes: `stop` is behind the last. */
export interface Span {
  readonly start: number;
  readonly stop: number;
}

/**
 * Writes the hash of these bytes as two numbers of 32 bits, the low one first, to `into[at]` and `into[at + 1]`. What
 * stood there is the seed.
 */
export function hashBytes(
  bytes: Uint8Array,
  { start, stop }: Span,
  { into, at }: { into: Uint32Array; at: number },
): void {
  const word = (from: number): number =>
    (bytes[from] ?? 0) |
    ((bytes[from + 1] ?? 0) << 8) |
    ((bytes[from + 2] ?? 0) << 16) |
    ((bytes[from + 3] ?? 0) << 24);
  let a = (0x9e3779b9 + (stop - start) + 3_923_095) | 0;
  let b = a;
  let c = a;
  const low = into[at] ?? 0;
  const high = into[at + 1] ?? 0;
  let from = low === 0 && high === 0 ? start : start - BLOCK;
  for (; stop - from >= BLOCK; from += BLOCK) {
    // A seed is mixed in before the text.
    const isSeed = from < start;
    a = (a + (isSeed ? high : word(from))) | 0;
    b = (b + (isSeed ? low : word(from + 4))) | 0;
    c = (c + (isSeed ? 0 : word(from + 8))) | 0;
    a = (a - c) ^ rotated(c, 4);
    c = (c + b) | 0;
    b = (b - a) ^ rotated(a, 6);
    a = (a + c) | 0;
    c = (c - b) ^ rotated(b, 8);
    b = (b + a) | 0;
    a = (a - c) ^ rotated(c, 16);
    c = (c + b) | 0;
    b = (b - a) ^ rotated(a, 19);
    a = (a + c) | 0;
    c = (c - b) ^ rotated(b, 4);
    b = (b + a) | 0;
  }
  for (let left = 0; left < stop - from; left++) {
    const byte = bytes[from + left] ?? 0;
    if (left < 4) a = (a + (byte << (8 * left))) | 0;
    else if (left < 8) b = (b + (byte << (8 * (left - 4)))) | 0;
    // The lowest byte of the third word is kept for the length.
    else c = (c + (byte << (8 * (left - 7)))) | 0;
  }
  c = ((c ^ b) - rotated(b, 14)) | 0;
  a = ((a ^ c) - rotated(c, 11)) | 0;
  b = ((b ^ a) - rotated(a, 25)) | 0;
  c = ((c ^ b) - rotated(b, 16)) | 0;
  a = ((a ^ c) - rotated(c, 4)) | 0;
  b = ((b ^ a) - rotated(a, 14)) | 0;
  c = ((c ^ b) - rotated(b, 24)) | 0;
  into[at] = c;
  into[at + 1] = b;
}
