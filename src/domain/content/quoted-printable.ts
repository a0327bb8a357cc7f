/**
 * Quoted-printable (RFC 2045 6.7) for a text with slots. Static text is encoded once. A soft line break after each
 * slot makes what follows independent of the slot's length, so that filling never touches static bytes.
 */
import type { FillScope, Segment, Slot } from './fill-scope.ts';
import { mergeStatic } from './fill-scope.ts';

/** RFC 2045 6.7 (5): at most 76 characters a line, the `=` of a soft break included. */
const LINE_LENGTH = 75;
const SOFT_BREAK = '=\r\n';

const NEEDS_NOTHING = /^[ -<>-~]*$/;
const NEEDS_ENCODING = /[^ -<>-~\t]+/g;

type Chunk = { readonly text: string; readonly column: number } | Slot;

interface QuotedPrintable {
  readonly staticBytes: number;
  /** Adds the encoded text to `out`. It begins at the start of a line and ends with a line end. */
  write(scope: FillScope, out: string[]): void;
}

/** Encodes all that is static now; the rest when a recipient is filled in. */
export function compileQuotedPrintable(segments: readonly Segment[]): QuotedPrintable {
  const chunks = mergeStatic([...segments, ...finalLineEnd(segments)]).map(compileChunk);
  const staticBytes = chunks.reduce((sum, chunk) => sum + (typeof chunk === 'function' ? 0 : chunk.text.length), 0);
  return { staticBytes, write: (scope, out) => writeChunks(chunks, scope, out) };
}

/** The encoding of one text that begins at `column`, and the column where it ends. */
function encodeQuotedPrintable(text: string, column = 0): { text: string; column: number } {
  const out: string[] = [];
  return { column: encodeInto(out, text, column), text: out.join('') };
}

function finalLineEnd(segments: readonly Segment[]): string[] {
  const last = segments.at(-1);
  return typeof last === 'string' && last.endsWith('\n') ? [] : ['\r\n'];
}

function compileChunk(segment: Segment): Chunk {
  return typeof segment === 'function' ? segment : encodeQuotedPrintable(segment);
}

function writeChunks(chunks: readonly Chunk[], scope: FillScope, out: string[]): void {
  let column = 0;
  for (const chunk of chunks) {
    if (typeof chunk === 'function') {
      column = encodeInto(out, chunk(scope), column);
      continue;
    }
    if (column !== 0) out.push(SOFT_BREAK);
    out.push(chunk.text);
    column = chunk.column;
  }
}

function encodeInto(out: string[], text: string, startColumn: number): number {
  if (startColumn + text.length <= LINE_LENGTH && NEEDS_NOTHING.test(text)) {
    out.push(text);
    return startColumn + text.length;
  }
  // One line without anything to encode, such as an address: it needs breaking only.
  if (NEEDS_NOTHING.test(text)) return writeLine(out, text, startColumn);
  let column = startColumn;
  const lines = text.split(/\r\n|\r|\n/);
  // What was written before may end in a space, which no hard line end may follow.
  if (lines[0] === '' && lines.length > 1 && column > 0) out.push(SOFT_BREAK);
  for (const [index, line] of lines.entries()) {
    const isLast = index === lines.length - 1;
    column = writeLine(out, encodeLine(line, isLast), column);
    if (isLast) break;
    out.push('\r\n');
    column = 0;
  }
  return column;
}

/** Bytes beyond printable ASCII become `=XX`; so does white space before a hard line end, which relays drop. */
function encodeLine(line: string, isLast: boolean): string {
  const encoded = line.replace(NEEDS_ENCODING, encodeRun);
  if (isLast) return encoded;
  if (encoded.endsWith(' ')) return `${encoded.slice(0, -1)}=20`;
  return encoded.endsWith('\t') ? `${encoded.slice(0, -1)}=09` : encoded;
}

function encodeRun(run: string): string {
  let encoded = '';
  for (const byte of Buffer.from(run)) encoded += HEX[byte];
  return encoded;
}

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  return `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
});

/** Writes one encoded line with soft breaks, none of them inside an `=XX`. */
function writeLine(out: string[], encoded: string, startColumn: number): number {
  let column = startColumn;
  let from = 0;
  while (column + encoded.length - from > LINE_LENGTH) {
    let to = from + LINE_LENGTH - column;
    if (encoded[to - 1] === '=') to -= 1;
    else if (encoded[to - 2] === '=') to -= 2;
    // At a line's end an escape may not fit at all: break first, then write it on the next line.
    out.push(encoded.slice(from, Math.max(to, from)), SOFT_BREAK);
    from = Math.max(to, from);
    column = 0;
  }
  out.push(from === 0 ? encoded : encoded.slice(from));
  return column + encoded.length - from;
}
