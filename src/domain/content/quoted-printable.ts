/**
 * Quoted-printable (RFC 2045 6.7) for a text with slots. Static text is encoded once. A soft line break after each slot makes the
 * following text independent of the slot's length, so that filling never changes static bytes.
 */
import type { FillScope, Segment, Slot } from './fill-scope.ts';
import { mergeStatic } from './fill-scope.ts';
import { CODE_LENGTH_MAX, type CodedAddress, type RecipientCode, type SharedLinks } from './message.ts';
import { MessageBytes } from './message-bytes.ts';

/** RFC 2045 6.7 (5): at most 76 characters a line, including the `=` of a soft break. */
const LINE_LENGTH = 75;
/** The length of a line that ends before an `=XX`. */
const SHORTEST_LINE = LINE_LENGTH - 2;
const SOFT_BREAK = Buffer.from('=\r\n');
const [TAB, LF, CR, SPACE, EQUALS, TILDE] = [0x09, 0x0a, 0x0d, 0x20, 0x3d, 0x7e];

const NEEDS_NOTHING = /^[ -<>-~]*$/;
/** By byte: 1 if it need not be encoded. */
const IS_PLAIN = Uint8Array.from({ length: 256 }, (_, byte) => {
  return byte === TAB || (byte >= SPACE && byte <= TILDE && byte !== EQUALS) ? 1 : 0;
});
const HEX_DIGITS = '0123456789ABCDEF';
/** Bytes encoded at once, to limit memory. */
const BYTES_AT_ONCE = 4_096;
/** `=XX` after a soft line break. */
const BYTES_OF_ONE_MAX = 6;

/** Bytes that are the same in every copy. */
interface StaticBytes {
  readonly bytes: Uint8Array;
  /** The same after a soft line break. */
  readonly broken: Uint8Array;
  /** Where its last line ends. */
  readonly column: number;
}

/** A recipient's code, and where it ends; in a body it has its own line with a soft break. */
interface CodeChunk {
  readonly code: RecipientCode;
  readonly column: number;
}

export type Chunk = StaticBytes | CodeChunk | Slot;

/**
 * Encodes all static text, for `writeChunks`; with `shared` links also the text around their codes. The encoded text begins at
 * the start of a line and ends with a line end.
 */
export function compileQuotedPrintable(segments: readonly Segment[], shared?: SharedLinks): Chunk[] {
  const inMail = segments.flatMap((segment) => (typeof segment === 'string' ? segment : (segment.inMail ?? segment)));
  const pieces = mergeStatic(
    [...inMail, ...finalLineEnd(inMail)].flatMap<string | Slot | CodeChunk>((segment) => {
      return typeof segment === 'string' ? segment : aroundCode(segment, shared);
    }),
  );
  return pieces.map((piece, index) => {
    return typeof piece === 'string' ? encodeStatic(piece, isCode(pieces[index + 1])) : piece;
  });
}

function aroundCode(slot: Slot, shared: SharedLinks | undefined): (string | Slot | CodeChunk)[] {
  const address = slot.address && shared?.around(slot.address.link);
  if (!slot.address || !address) return [slot];
  const { escape } = slot.address;
  return [escape(address.before), { code: address.code, column: CODE_LENGTH_MAX }, escape(address.after)];
}

/** Header lines with a code in them. */
export function codeInHeader({ before, code, after }: CodedAddress): Chunk[] {
  return [staticText(before), { code, column: 0 }, staticText(after)];
}

function isCode(piece: Chunk | string | undefined): piece is CodeChunk {
  return typeof piece === 'object' && 'code' in piece;
}

/** Whole lines that need no encoding; in a header an address may be more than ASCII (RFC 6532). */
export function staticText(text: string): Chunk {
  return staticBytes([Buffer.from(text)], 0);
}

export function isStatic(chunk: Chunk | undefined): chunk is StaticBytes {
  return typeof chunk === 'object' && 'bytes' in chunk;
}

/** Joins neighbouring static bytes. All except the last end with a line end. */
export function joinStatic(chunks: readonly Chunk[]): Chunk[] {
  const joined: Chunk[] = [];
  for (const chunk of chunks) {
    const last = joined.at(-1);
    if (isStatic(chunk) && isStatic(last))
      joined[joined.length - 1] = staticBytes([last.bytes, chunk.bytes], chunk.column);
    else joined.push(chunk);
  }
  return joined;
}

/** Writes static bytes as they are, and the values of slots encoded. */
export function writeChunks(chunks: readonly Chunk[], scope: FillScope, out: MessageBytes): void {
  let column = 0;
  for (const chunk of chunks) {
    if (typeof chunk === 'function') {
      column = writeText(out, chunk(scope), column);
      continue;
    }
    if (isStatic(chunk)) out.add(column === 0 ? chunk.bytes : chunk.broken);
    else out.wrote(chunk.code.write(out.reserve(CODE_LENGTH_MAX), out.end));
    column = chunk.column;
  }
}

function finalLineEnd(segments: readonly Segment[]): string[] {
  const last = segments.at(-1);
  return typeof last === 'string' && last.endsWith('\n') ? [] : ['\r\n'];
}

/** A code follows on its own line, which may be as long as allowed. */
function encodeStatic(text: string, hasCodeBehind: boolean): StaticBytes {
  const out = new MessageBytes();
  const column = writeText(out, text, 0);
  if (hasCodeBehind) out.add(SOFT_BREAK);
  return staticBytes([out.take()], hasCodeBehind ? 0 : column);
}

function staticBytes(parts: readonly Uint8Array[], column: number): StaticBytes {
  const broken = Buffer.concat([SOFT_BREAK, ...parts]);
  return { bytes: broken.subarray(SOFT_BREAK.length), broken, column };
}

/** Adds a text that begins at `startColumn`, and returns the column where it ends. */
function writeText(out: MessageBytes, text: string, startColumn: number): number {
  // A line without anything to encode, such as an address or a name, only needs breaks.
  return NEEDS_NOTHING.test(text) ? writeLine(out, text, startColumn) : writeBytes(out, Buffer.from(text), startColumn);
}

/**
 * Any text, byte by byte: bytes beyond printable ASCII become `=XX`, and so does white space before a hard line end, because
 * relays drop it.
 */
function writeBytes(out: MessageBytes, source: Uint8Array, startColumn: number): number {
  let column = startColumn;
  // The text before may end in a space, which no hard line end may follow.
  if (column > 0 && isLineEnd(source[0])) out.add(SOFT_BREAK);
  for (let from = 0; from < source.length; from += BYTES_AT_ONCE) {
    const to = Math.min(from + BYTES_AT_ONCE, source.length);
    const bytes = out.reserve(BYTES_OF_ONE_MAX * (to - from));
    let at = out.end;
    for (let index = from; index < to; index += 1) {
      const byte = source[index] ?? 0;
      if (isLineEnd(byte)) {
        // The line feed of a pair ends the line that its carriage return has ended.
        if (byte === LF && index > 0 && source[index - 1] === CR) continue;
        bytes[at++] = CR;
        bytes[at++] = LF;
        column = 0;
        continue;
      }
      const isPlain = IS_PLAIN[byte] === 1 && !(isWhiteSpace(byte) && isLineEnd(source[index + 1]));
      const width = isPlain ? 1 : 3;
      if (column + width > LINE_LENGTH) {
        bytes[at++] = EQUALS;
        bytes[at++] = CR;
        bytes[at++] = LF;
        column = 0;
      }
      bytes[at++] = isPlain ? byte : EQUALS;
      if (!isPlain) {
        bytes[at++] = HEX_DIGITS.charCodeAt(byte >> 4);
        bytes[at++] = HEX_DIGITS.charCodeAt(byte & 15);
      }
      column += width;
    }
    out.wrote(at);
  }
  return column;
}

function isLineEnd(byte: number | undefined): boolean {
  return byte === LF || byte === CR;
}

function isWhiteSpace(byte: number): boolean {
  return byte === SPACE || byte === TAB;
}

/**
 * Writes one encoded line with soft breaks, none of them inside an `=XX`: first all of it at the far right, then each line at its
 * place.
 */
function writeLine(out: MessageBytes, encoded: string, startColumn: number): number {
  const isWhole = startColumn + encoded.length <= LINE_LENGTH;
  const space = isWhole ? 0 : SOFT_BREAK.length * Math.ceil((startColumn + encoded.length) / SHORTEST_LINE);
  const bytes = out.reserve(space + encoded.length);
  let at = out.end;
  let from = at + space;
  const end = from + bytes.write(encoded, from);
  let column = startColumn;
  while (column + end - from > LINE_LENGTH) {
    const to = breakBefore(bytes, from, from + LINE_LENGTH - column);
    bytes.copyWithin(at, from, to);
    at += to - from;
    bytes[at++] = EQUALS;
    bytes[at++] = CR;
    bytes[at++] = LF;
    from = to;
    column = 0;
  }
  if (!isWhole) bytes.copyWithin(at, from, end);
  out.wrote(at + end - from);
  return column + end - from;
}

/** `to`, or the beginning of the `=XX` that it would cut. If not even one fits at the line's end, `from`. */
function breakBefore(bytes: Buffer, from: number, to: number): number {
  if (to > from && bytes[to - 1] === EQUALS) return to - 1;
  return to > from + 1 && bytes[to - 2] === EQUALS ? to - 2 : to;
}
