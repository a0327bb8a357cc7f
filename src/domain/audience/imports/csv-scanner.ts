/**
 * Reads CSV (RFC 4180) out of UTF-8 bytes that come in pieces, and says at which byte and line each record stands, so
 * that an import can go on from there. More tolerant than the RFC: lines end in LF, CRLF or CR; blanks around cells
 * are dropped; what follows a closing quote belongs to the cell; a quote that is never closed spoils its line only.
 * It makes no texts unless asked: an import of a million lines looks at the cells where they lie.
 */
import { isUtf8 } from 'node:buffer';

export interface CsvRecord {
  readonly cells: string[];
  /** Offset of the byte behind the record and its line end. */
  readonly end: number;
  /** Line of the file in which the record begins, from 1. */
  readonly line: number;
  /** Lines the record takes; more than one when a quoted cell holds line breaks. */
  readonly lines: number;
  /** The record cannot be read: a quote stays open, or it is longer than a record may be. */
  readonly isBroken: boolean;
  /** It cannot be read because its line alone is longer than a record may be. */
  readonly isTooLong: boolean;
}

export interface CsvScannerOptions {
  readonly separator: string;
  /** Offset of the first byte that will be pushed, and the number of its line. */
  readonly offset?: number;
  readonly line?: number;
}

/** A hundred fields of four thousand characters, with room. A longer one has lost its closing quote. */
export const RECORD_BYTES_MAX = 1024 * 1024;
/** As many columns as anybody exports; a record with more is cut there, and so does not fit its header. */
export const CELLS_MAX = 2_000;

/** How a cell is written. */
export const PLAIN = 0;
export const QUOTED = 1;
const QUOTED_WITH_QUOTES = 2;
/** Something stands between the closing quote and the end of the cell. */
const QUOTED_WITH_MORE = 3;

const INCOMPLETE = -1;
const BROKEN = -2;
const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;

export class CsvScanner {
  /** What has been pushed and not been read to its end. */
  bytes: Buffer = Buffer.alloc(0);
  /** The cells of the present record: how many, where each begins and ends in `bytes`, and how it is written. */
  count = 0;
  readonly starts = new Int32Array(CELLS_MAX);
  readonly stops = new Int32Array(CELLS_MAX);
  readonly kinds = new Uint8Array(CELLS_MAX);
  /** Where the present record lies: see CsvRecord. */
  end: number;
  line: number;
  lines = 0;
  isBroken = false;
  isTooLong = false;
  /** The record is no record but more of the line before, which was too long to be held. */
  continues = false;
  /** The record is ASCII, or lies in a piece that is all well-formed UTF-8. */
  isSound = true;

  readonly #separator: number;
  readonly #blank: number;
  /** 1 for the bytes that end an unquoted cell. */
  readonly #ends = new Uint8Array(256);
  /** Where the present record begins, and the next one. */
  #start = 0;
  #next = 0;
  #isLast = false;
  #isAscii = true;
  #isUtf8 = true;

  constructor({ separator, offset = 0, line = 1 }: CsvScannerOptions) {
    this.#separator = separator.charCodeAt(0);
    // A tab is a blank too, unless it separates.
    this.#blank = separator === '\t' ? SPACE : TAB;
    for (const byte of [this.#separator, LF, CR]) this.#ends[byte] = 1;
    this.end = offset;
    this.line = line;
  }

  /** Adds the next piece of the file; `isLast` says that nothing follows. */
  push(piece: Uint8Array, isLast = false): void {
    const rest = this.bytes.subarray(this.#next);
    const fresh = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    this.bytes = rest.length === 0 ? fresh : Buffer.concat([rest, fresh]);
    // A record never ends inside a letter: whatever is cut at the end is looked at again with the next piece.
    const whole = this.bytes.length - cutLetter(this.bytes);
    this.#isUtf8 = isUtf8(isLast ? this.bytes : this.bytes.subarray(0, whole));
    this.#start = 0;
    this.#next = 0;
    this.#isLast = isLast;
  }

  /** Moves to the next record; false when more bytes are needed (or, after the last piece, none are left). */
  advance(): boolean {
    if (this.#next >= this.bytes.length) return false;
    const start = this.#next;
    let end = this.#scan(start);
    if (end === INCOMPLETE) {
      if (!this.#isLast && this.bytes.length - start <= RECORD_BYTES_MAX) return false;
      end = BROKEN;
    }
    // The same, whatever the pieces: one that was too long by some bytes came whole.
    if (end - start > RECORD_BYTES_MAX) end = BROKEN;
    this.line += this.lines;
    this.continues = this.#isCut;
    this.#isCut = false;
    this.lines = this.#breaks;
    this.isBroken = end === BROKEN;
    if (end === BROKEN) end = this.#endOfLine(start);
    this.isTooLong = this.isBroken && end - start > RECORD_BYTES_MAX;
    this.isSound = this.#isAscii || this.#isUtf8;
    this.#start = start;
    this.#next = end;
    this.end += end - start;
    return true;
  }

  /** The record after `advance` as texts. */
  record(): CsvRecord {
    const { end, line, lines, isBroken, isTooLong } = this;
    return { cells: this.#cells(), end, line, lines, isBroken, isTooLong };
  }

  /** `advance` and `record` at once. */
  next(): CsvRecord | undefined {
    return this.advance() ? this.record() : undefined;
  }

  #breaks = 0;
  #isCut = false;

  /** Only the first line is lost: what follows it is read as if the quote had not been there. */
  #endOfLine(start: number): number {
    let end = start;
    while (end < this.bytes.length && this.bytes[end] !== LF && this.bytes[end] !== CR) end++;
    const hasEnd = end < this.bytes.length;
    this.lines = hasEnd || this.#isLast ? 1 : 0;
    this.#isCut = this.lines === 0;
    return hasEnd ? this.#behindBreak(end) : end;
  }

  /** Finds the cells of the record at `start` and answers where it ends, or INCOMPLETE or BROKEN. */
  #scan(start: number): number {
    const bytes = this.bytes;
    this.count = 0;
    this.#breaks = 1;
    this.#isAscii = true;
    let at = start;
    for (;;) {
      let first = at;
      while (bytes[first] === SPACE || bytes[first] === this.#blank) first++;
      at = bytes[first] === QUOTE ? this.#quotedCell(first + 1) : this.#plainCell(first);
      if (at < 0) return at;
      if (at >= bytes.length) return this.#isLast ? at : INCOMPLETE;
      if (bytes[at] !== this.#separator) return this.#endOfRecord(at);
      at++;
    }
  }

  #plainCell(start: number): number {
    const bytes = this.bytes;
    const ends = this.#ends;
    const length = bytes.length;
    let at = start;
    let seen = 0;
    for (; at < length; at++) {
      const byte = bytes[at] ?? 0;
      if (ends[byte] === 1) break;
      seen |= byte;
    }
    if (seen > 0x7f) this.#isAscii = false;
    let stop = at;
    while (stop > start && (bytes[stop - 1] === SPACE || bytes[stop - 1] === this.#blank)) stop--;
    this.#note(start, stop, PLAIN);
    return at;
  }

  /** From behind the opening quote to the byte that ends the cell. */
  #quotedCell(start: number): number {
    const bytes = this.bytes;
    let kind = QUOTED;
    let from = start;
    for (;;) {
      const quote = bytes.indexOf(QUOTE, from);
      if (quote === -1) return INCOMPLETE;
      if (bytes[quote + 1] !== QUOTE) {
        from = quote;
        break;
      }
      kind = QUOTED_WITH_QUOTES;
      from = quote + 2;
    }
    // A quote at the very end may be the first of two.
    if (from + 1 >= bytes.length && !this.#isLast) return INCOMPLETE;
    const breaks = this.#breaks;
    this.#lookInside(start, from);
    let stop = from + 1;
    let isClean = true;
    for (; stop < bytes.length && this.#ends[bytes[stop] ?? 0] !== 1; stop++)
      if (bytes[stop] !== SPACE && bytes[stop] !== this.#blank) isClean = false;
    // Over several lines to a quote that closes nothing: that one opens a cell, and ours was never closed.
    if (!isClean && this.#breaks > breaks) return BROKEN;
    if (!isClean) this.#lookInside(from, stop);
    if (isClean) this.#note(start, from, kind);
    else this.#note(start, stop, QUOTED_WITH_MORE);
    return stop;
  }

  /** Counts line breaks inside quotes and sees whether there is more than ASCII. */
  #lookInside(start: number, end: number): void {
    const bytes = this.bytes;
    let seen = 0;
    for (let at = start; at < end; at++) {
      const byte = bytes[at] ?? 0;
      seen |= byte;
      if (byte === LF || (byte === CR && bytes[at + 1] !== LF)) this.#breaks++;
    }
    if (seen > 0x7f) this.#isAscii = false;
  }

  #note(start: number, stop: number, kind: number): void {
    if (this.count >= CELLS_MAX) return;
    this.starts[this.count] = start;
    this.stops[this.count] = stop;
    this.kinds[this.count] = kind;
    this.count++;
  }

  #endOfRecord(at: number): number {
    // A CR at the very end may be the first half of CRLF.
    if (this.bytes[at] === CR && at + 1 >= this.bytes.length && !this.#isLast) return INCOMPLETE;
    return this.#behindBreak(at);
  }

  #behindBreak(at: number): number {
    return this.bytes[at] === CR && this.bytes[at + 1] === LF ? at + 2 : at + 1;
  }

  #cells(): string[] {
    if (this.isBroken) return [this.bytes.toString('utf8', this.#start, this.#next).trim()];
    return Array.from({ length: this.count }, (_, index) => {
      const raw = this.bytes.toString('utf8', this.starts[index], this.stops[index]);
      return unquoted(raw, this.kinds[index] ?? PLAIN);
    });
  }
}

function unquoted(raw: string, kind: number): string {
  switch (kind) {
    case QUOTED_WITH_QUOTES:
      return raw.replaceAll('""', '"');
    case QUOTED_WITH_MORE:
      return withMore(raw);
    default:
      return raw;
  }
}

/** `inside" more`: the first lone quote is the closing one; the rest is taken as it stands. */
function withMore(raw: string): string {
  const closing = /^(?:[^"]|"")*/.exec(raw)?.[0].length ?? 0;
  return raw.slice(0, closing).replaceAll('""', '"') + raw.slice(closing + 1).trimEnd();
}

/** Bytes of an incomplete letter at the end. */
function cutLetter(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0;
  }
  return 0;
}
