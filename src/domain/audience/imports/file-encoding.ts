/** Detects the encoding of a file from its first bytes and from bytes that are not ASCII. */
import { isUtf8 } from 'node:buffer';
import { analyse } from 'chardet';

/** The encoding of Western spreadsheets without Unicode. */
const FALLBACK = 'windows-1252';
/** Enough for a guess by letter frequency; its time is proportional. */
const GUESS_BYTES_MAX = 64 * 1024;
/** Of 100. Below this a guess only says that the bytes are possible. */
const CONFIDENCE_MIN = 20;
const UTF16_SAMPLE_BYTES = 4_096;
/** In UTF-16 every second byte of a Western or comma-separated text is zero; in other encodings none is. */
const UTF16_ZEROS_MIN = 0.2;

export interface EncodingSample {
  /** The beginning of the file. */
  readonly first: Uint8Array;
  /** A part of the file with more than ASCII; undefined when there is none. */
  readonly beyondAscii: Uint8Array | undefined;
}

/** The encoding, by a name that TextDecoder knows. Never fails: the fallback is windows-1252. */
export function detectEncoding({ first, beyondAscii }: EncodingSample): string {
  const marked = encodingByMark(first) ?? utf16WithoutMark(first);
  if (marked !== undefined) return marked;
  if (beyondAscii === undefined || isUtf8(wholeCharacters(beyondAscii))) return 'utf-8';
  const start = beyondAscii.findIndex((byte) => byte > 0x7f);
  // With some of the text before it: letter pairs distinguish languages.
  const guesses = analyse(beyondAscii.subarray(Math.max(0, start - GUESS_BYTES_MAX / 2), start + GUESS_BYTES_MAX));
  const best = guesses.find(({ name, confidence }) => confidence >= CONFIDENCE_MIN && isDecodable(name));
  return best ? new TextDecoder(best.name).encoding : FALLBACK;
}

/** By the byte order mark. */
function encodingByMark(bytes: Uint8Array): string | undefined {
  const [a, b, c] = bytes;
  if (a === 0xef && b === 0xbb && c === 0xbf) return 'utf-8';
  if (a === 0xff && b === 0xfe) return 'utf-16le';
  if (a === 0xfe && b === 0xff) return 'utf-16be';
  return undefined;
}

function utf16WithoutMark(bytes: Uint8Array): string | undefined {
  const sample = bytes.subarray(0, UTF16_SAMPLE_BYTES);
  const zeros = [0, 0];
  sample.forEach((byte, index) => {
    if (byte === 0) zeros[index % 2] = (zeros[index % 2] ?? 0) + 1;
  });
  const [even = 0, odd = 0] = zeros;
  const enough = (sample.length / 2) * UTF16_ZEROS_MIN;
  if (odd > enough && odd > even * 4) return 'utf-16le';
  if (even > enough && even > odd * 4) return 'utf-16be';
  return undefined;
}

/** Without incomplete characters at both ends: the part may begin and end anywhere. */
function wholeCharacters(bytes: Uint8Array): Uint8Array {
  let start = 0;
  while (start < 3 && isContinuation(bytes[start])) start++;
  let end = bytes.length;
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) break;
    if (byte >= 0xc0) {
      const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      if (back < needed) end = bytes.length - back;
      break;
    }
  }
  return bytes.subarray(start, end);
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

function isDecodable(name: string): boolean {
  try {
    return new TextDecoder(name).encoding !== '';
  } catch {
    return false;
  }
}
