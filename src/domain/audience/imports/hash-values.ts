/** What a row's values are, in eight bytes, as the database says it of the same values (known-members.ts). */
import { hashBytes, type Span } from '../../../lib/hash-bytes.ts';

const COMMA = 0x2c;
const QUOTE = 0x22;
const CLOSE = 0x7d;
const BACKSLASH = 0x5c;

/**
 * Hashes the values of a row's JSON in the order of `names` (`"TAG":"` each), each with the hash of those before it as
 * its seed; one that is not there as an empty one. The seed of the first stands in `into`. False, and nothing is said,
 * when there are escapes among them or values of other names.
 */
export function hashValues(
  bytes: Buffer,
  { start, stop }: Span,
  { names, into, at }: { names: readonly Buffer[]; into: Uint32Array; at: number },
): boolean {
  let next = start + 1;
  for (const name of names) {
    const from = bytes[next] === COMMA ? next + 1 : next;
    const isThere = startsWith(bytes, name, from);
    const value = isThere ? from + name.length : next;
    const end = isThere ? endOfValue(bytes, value) : next;
    if (end === -1) return false;
    hashBytes(bytes, { start: value, stop: end }, { into, at });
    if (isThere) next = end + 1;
  }
  return next === stop - 1 && bytes[next] === CLOSE;
}

function startsWith(bytes: Buffer, name: Buffer, from: number): boolean {
  for (let at = 0; at < name.length; at++) if (bytes[from + at] !== name[at]) return false;
  return true;
}

/** Where the quote is that ends it; -1 when an escape comes before. */
function endOfValue(bytes: Buffer, from: number): number {
  for (let at = from; ; at++) {
    if (bytes[at] === QUOTE) return at;
    if (bytes[at] === BACKSLASH || bytes[at] === undefined) return -1;
  }
}
