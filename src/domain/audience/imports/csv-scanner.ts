/**
 * Reads CSV (RFC 4180) out of UTF-8 bytes that come in pieces, and says at which byte and line each record stands, so
 * that an import can go on from there. More tolerant than the RFC: lines end in LF, CRLF or CR; blanks around cells
 * are dropped; what follows a closing quote belongs to the cell; a quote that is never closed spoils its line only.
 */

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

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const NOTHING = Buffer.alloc(0);

export class CsvScanner {
  readonly #separator: number;
  /** 1 for the bytes that end an unquoted cell. */
  readonly #ends = new Uint8Array(256);
  #bytes: Buffer = NOTHING;
  /** Where the next record begins, in #bytes and in the file. */
  #at = 0;
  #offset: number;
  #line: number;
  #isLast = false;

  // The record being read: where its cells begin and end, and what is special about them.
  readonly #starts = new Int32Array(CELLS_MAX);
  readonly #stops = new Int32Array(CELLS_MAX);
  readonly #kinds = new Uint8Array(CELLS_MAX);
  #count = 0;
  #breaks = 0;
  #isAscii = true;

  constructor({ separator, offset = 0, line = 1 }: CsvScannerOptions) {
    this.#separator = separator.charCodeAt(0);
    for (const byte of [this.#separator, LF, CR]) this.#ends[byte] = 1;
    this.#offset = offset;
    this.#line = line;
  }

  /** Adds the next piece of the file; `isLast` says that nothing follows. */
  push(piece: Uint8Array, isLast = false): void {
    const rest = this.#bytes.subarray(this.#at);
    this.#bytes =
      rest.length === 0 ? Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength) : Buffer.concat([rest, piece]);
    this.#at = 0;
    this.#isLast = isLast;
  }

  /** The next record, or undefined when more bytes are needed (or, after the last piece, none are left). */
  next(): CsvRecord | undefined {
    if (this.#at >= this.#bytes.length) return undefined;
    const end = this.#scan(this.#at);
    if (end >= 0) return this.#take(end, false);
    if (end === BROKEN) return this.#takeBroken();
    const waiting = this.#bytes.length - this.#at;
    return this.#isLast || waiting > RECORD_BYTES_MAX ? this.#takeBroken() : undefined;
  }

  #take(end: number, isBroken: boolean): CsvRecord {
    const start = this.#at;
    const cells = isBroken
      ? [this.#bytes.toString('utf8', start, Math.min(end, start + RECORD_BYTES_MAX)).trim()]
      : this.#cells(start, end);
    const line = this.#line;
    this.#line += this.#breaks;
    this.#offset += end - start;
    this.#at = end;
    return { cells, end: this.#offset, line, lines: this.#breaks, isBroken };
  }

  /** Only the first line is lost: what follows it is read as if the quote had not been there. */
  #takeBroken(): CsvRecord {
    let end = this.#at;
    while (end < this.#bytes.length && this.#bytes[end] !== LF && this.#bytes[end] !== CR) end++;
    const hasEnd = end < this.#bytes.length;
    this.#breaks = hasEnd || this.#isLast ? 1 : 0;
    return this.#take(hasEnd ? this.#behindBreak(end) : end, true);
  }

  /** Finds the cells of the record at `start` and answers where it ends, or INCOMPLETE or BROKEN. */
  #scan(start: number): number {
    const bytes = this.#bytes;
    this.#count = 0;
    this.#breaks = 1;
    this.#isAscii = true;
    let at = start;
    for (;;) {
      let first = at;
      while (bytes[first] === SPACE) first++;
      at = bytes[first] === QUOTE ? this.#quotedCell(first + 1) : this.#plainCell(first);
      if (at < 0) return at;
      if (at >= bytes.length) return this.#isLast ? at : INCOMPLETE;
      if (bytes[at] !== this.#separator) return this.#endOfRecord(at);
      at++;
    }
  }

  #plainCell(start: number): number {
    const bytes = this.#bytes;
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
    this.#note(start, at, PLAIN);
    return at;
  }

  /** From behind the opening quote to the byte that ends the cell. */
  #quotedCell(start: number): number {
    const bytes = this.#bytes;
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
      if (bytes[stop] !== SPACE) isClean = false;
    // Over several lines to a quote that closes nothing: that one opens a cell, and ours was never closed.
    if (!isClean && this.#breaks > breaks) return BROKEN;
    if (isClean) this.#note(start, from, kind);
    else this.#note(start, stop, QUOTED_WITH_MORE);
    return stop;
  }

  /** Counts line breaks inside quotes and sees whether there is more than ASCII. */
  #lookInside(start: number, end: number): void {
    const bytes = this.#bytes;
    let seen = 0;
    for (let at = start; at < end; at++) {
      const byte = bytes[at] ?? 0;
      seen |= byte;
      if (byte === LF || (byte === CR && bytes[at + 1] !== LF)) this.#breaks++;
    }
    if (seen > 0x7f) this.#isAscii = false;
  }

  #note(start: number, stop: number, kind: number): void {
    if (this.#count >= CELLS_MAX) return;
    this.#starts[this.#count] = start;
    this.#stops[this.#count] = stop;
    this.#kinds[this.#count] = kind;
    this.#count++;
  }

  #endOfRecord(at: number): number {
    // A CR at the very end may be the first half of CRLF.
    if (this.#bytes[at] === CR && at + 1 >= this.#bytes.length && !this.#isLast) return INCOMPLETE;
    return this.#behindBreak(at);
  }

  #behindBreak(at: number): number {
    return this.#bytes[at] === CR && this.#bytes[at + 1] === LF ? at + 2 : at + 1;
  }

  #cells(start: number, end: number): string[] {
    // One text for the whole record when its characters are its bytes: slices of it cost next to nothing.
    const text = this.#isAscii ? this.#bytes.toString('latin1', start, end) : undefined;
    const cells = new Array<string>(this.#count);
    for (let index = 0; index < this.#count; index++) {
      const from = this.#starts[index] ?? 0;
      const to = this.#stops[index] ?? 0;
      const raw = text === undefined ? this.#bytes.toString('utf8', from, to) : text.slice(from - start, to - start);
      cells[index] = unquoted(raw, this.#kinds[index] ?? PLAIN);
    }
    return cells;
  }
}

const INCOMPLETE = -1;
const BROKEN = -2;
const PLAIN = 0;
const QUOTED = 1;
const QUOTED_WITH_QUOTES = 2;
/** Something stands between the closing quote and the end of the cell. */
const QUOTED_WITH_MORE = 3;

function unquoted(raw: string, kind: number): string {
  switch (kind) {
    case PLAIN:
      return raw.trim();
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
