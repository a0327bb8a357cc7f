/**
 * Reads CSV from UTF-8 bytes that come in pieces, and returns the byte and line of each record, so that an import can continue
 * from there. Uploaded files are often not strict CSV: lines end in LF, CRLF or CR, blanks surround cells, text follows a closing
 * quote, and a quote that is never closed affects its own line only. No cell is read twice: for any file the time is proportional
 * to its bytes.
 */
export interface CsvRecord {
  readonly cells: readonly string[];
  /** Offset of the byte after the record and its line end. */
  readonly end: number;
  /** Line of the file in which the record begins, from 1. */
  readonly line: number;
  /** Lines of the record; more than one when a quoted cell contains line breaks. */
  readonly lines: number;
  /** The record cannot be read: a quote stays open, or it is too long. */
  readonly isBroken: boolean;
  /** It cannot be read because its line alone is too long. */
  readonly isTooLong: boolean;
}

export interface CsvReaderOptions {
  readonly separator: string;
  /** Offset of the first byte that will be pushed, and the number of its line. */
  readonly offset?: number;
  readonly line?: number;
}

/** A hundred fields of four thousand characters, with a reserve. A longer one has lost its closing quote. */
export const RECORD_BYTES_MAX = 1024 * 1024;
/** More columns than anybody exports; a record with more is cut, and so does not fit its header. */
const CELLS_MAX = 2_000;
/** How much of a line that is too long is kept: more than a report stores. */
const BEGINNING_BYTES = 64 * 1024;

const INCOMPLETE = -1;
const BROKEN = -2;
const TAB = 0x09;
const LF = 0x0a;
const VERTICAL_TAB = 0x0b;
const FORM_FEED = 0x0c;
const CR = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const NOT_ASCII = 0x80;
/** In UTF-8, the blanks that `trim` removes and that are not ASCII: no-break spaces, and those of print and of ideographs. */
const BLANKS = [
  ...'\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff',
].map((blank) => [...Buffer.from(blank)]);

export class CsvReader {
  /** Bytes that were read, including repeated ones. */
  bytesRead = 0;
  readonly #separator: number;
  /** A tab is a blank too, unless it is the separator. */
  readonly #blank: number;
  /** Bytes that were pushed and not read completely, and the offset of the first one. */
  #held: Buffer = Buffer.alloc(0);
  #heldStart: number;
  /**
   * 1 for each held byte at which a cell began. A cell that begins there again belonged to a rejected record: what follows a cell
   * does not depend on what precedes it, so the present record is rejected too.
   */
  #tried = new Uint8Array(0);
  #isLast = false;
  /**
   * In `#held`: where the present record begins; its cells so far; where the next cell begins, and from where its closing quote
   * is searched.
   */
  #start = 0;
  #cells: string[] = [];
  #at = 0;
  #quoteFrom = 0;
  #line: number;
  #lines = 1;
  /** The beginning of a line that is too long, while its end is searched. */
  #longLine: string | undefined;

  constructor({ separator, offset = 0, line = 1 }: CsvReaderOptions) {
    this.#separator = separator.charCodeAt(0);
    this.#blank = separator === '\t' ? SPACE : TAB;
    this.#heldStart = offset;
    this.#line = line;
  }

  /**
   * Takes the next piece of the file and yields the records that end in it; all of them must be read before the next piece.
   * `isLast`: nothing follows.
   */
  *push(piece: Uint8Array, isLast = false): Generator<CsvRecord, void> {
    this.#hold(piece, isLast);
    while (this.#start < this.#held.length) {
      const record = this.#longLine === undefined ? this.#next() : this.#endLongLine(this.#longLine);
      if (!record) return;
      yield record;
    }
  }

  #hold(piece: Uint8Array, isLast: boolean): void {
    const fresh = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    const rest = this.#held.subarray(this.#start);
    const tried = this.#tried.subarray(this.#start);
    this.#held = rest.length === 0 ? fresh : Buffer.concat([rest, fresh]);
    this.#tried = new Uint8Array(this.#held.length);
    this.#tried.set(tried);
    this.#heldStart += this.#start;
    this.#at -= this.#start;
    this.#quoteFrom = Math.max(0, this.#quoteFrom - this.#start);
    this.#start = 0;
    this.#isLast = isLast;
  }

  /** Undefined when the end of the record has not arrived yet. */
  #next(): CsvRecord | undefined {
    const end = this.#readCells();
    const isEndless = end === INCOMPLETE && (this.#isLast || this.#held.length - this.#start > RECORD_BYTES_MAX);
    if (end === INCOMPLETE && !isEndless) return undefined;
    if (end >= 0 && end - this.#start <= RECORD_BYTES_MAX) return this.#recordTo(end);
    if (this.#at - this.#start <= RECORD_BYTES_MAX) this.#tried[this.#at] = 1;
    return this.#rejectLine();
  }

  /** Reads cells from where it stopped; returns where the record ends, or INCOMPLETE or BROKEN. */
  #readCells(): number {
    const held = this.#held;
    for (;;) {
      if (this.#tried[this.#at] === 1 || this.#at - this.#start > RECORD_BYTES_MAX) return BROKEN;
      const first = this.#behindBlanks(this.#at);
      const stop = held[first] === QUOTE ? this.#quotedCell(first) : this.#plainCell(first);
      if (stop < 0) return stop;
      if (stop === held.length) return stop;
      if (held[stop] !== this.#separator) return this.#behindBreak(stop);
      this.#tried[this.#at] = 1;
      this.#at = stop + 1;
      this.#quoteFrom = 0;
    }
  }

  /** The position after the blanks, of any script, at the beginning of a cell. */
  #behindBlanks(from: number): number {
    const held = this.#held;
    let at = from;
    for (;;) {
      const byte = held[at] ?? QUOTE;
      if (byte === SPACE || byte === this.#blank || byte === VERTICAL_TAB || byte === FORM_FEED) at++;
      else if (byte < NOT_ASCII) return at;
      else {
        const length = BLANKS.find((blank) => blank.every((one, index) => held[at + index] === one))?.length;
        if (length === undefined) return at;
        at += length;
      }
    }
  }

  /** The position of the byte that ends the cell: a separator, a line end or the end of the file. */
  #plainCell(first: number): number {
    const stop = this.#endOfCell(first);
    if (stop >= 0) this.#take(this.#held.toString('utf8', first, stop).trim());
    return stop;
  }

  #quotedCell(open: number): number {
    const held = this.#held;
    let quote = Math.max(open + 1, this.#quoteFrom);
    const from = quote;
    for (;;) {
      quote = held.indexOf(QUOTE, quote);
      if (quote === -1 || held[quote + 1] !== QUOTE) break;
      quote += 2;
    }
    this.bytesRead += (quote === -1 ? held.length : quote) - from;
    // A quote at the very end may be the first of two.
    this.#quoteFrom = quote === -1 ? held.length : quote;
    if (quote === -1 || (quote + 1 === held.length && !this.#isLast)) return INCOMPLETE;
    const stop = this.#endOfCell(quote + 1);
    if (stop < 0) return stop;
    const more = stop === quote + 1 ? '' : held.toString('utf8', quote + 1, stop).trimEnd();
    const breaks = this.#breaksIn(open, quote);
    // The quote that was found lines later closes nothing: it opens another cell, and ours was never closed.
    if (more !== '' && breaks > 0) return BROKEN;
    this.#lines += breaks;
    this.#take(held.toString('utf8', open + 1, quote).replaceAll('""', '"') + more);
    return stop;
  }

  #take(cell: string): void {
    if (this.#cells.length < CELLS_MAX) this.#cells.push(cell);
  }

  #endOfCell(from: number): number {
    const held = this.#held;
    const separator = this.#separator;
    let at = from;
    for (; at < held.length; at++) {
      const byte = held[at];
      if (byte === separator || byte === LF || byte === CR) break;
    }
    this.bytesRead += at - from;
    // A CR at the very end may be the first half of CRLF.
    const isOpen = at === held.length || (held[at] === CR && at + 1 === held.length);
    return isOpen && !this.#isLast ? INCOMPLETE : at;
  }

  #breaksIn(from: number, end: number): number {
    const held = this.#held;
    let breaks = 0;
    for (let at = from; at < end; at++) if (held[at] === LF || (held[at] === CR && held[at + 1] !== LF)) breaks++;
    this.bytesRead += end - from;
    return breaks;
  }

  #behindBreak(at: number): number {
    return this.#held[at] === CR && this.#held[at + 1] === LF ? at + 2 : at + 1;
  }

  /**
   * Only the first line is rejected: the next is read as if the quote had not been there. Undefined when its end has not arrived
   * yet.
   */
  #rejectLine(): CsvRecord | undefined {
    const stop = this.#endOfLine();
    if (stop === INCOMPLETE) {
      const beginning = this.#held.toString('utf8', this.#start, this.#start + BEGINNING_BYTES).trim();
      this.#longLine = beginning;
      return this.#endLongLine(beginning);
    }
    const isTooLong = stop - this.#start > RECORD_BYTES_MAX;
    this.#cells = [this.#held.toString('utf8', this.#start, stop).trim()];
    this.#lines = 1;
    return this.#recordTo(stop, { isBroken: true, isTooLong });
  }

  /** Rejects a line that is too long when its end has arrived; until then its bytes are skipped. */
  #endLongLine(beginning: string): CsvRecord | undefined {
    const stop = this.#endOfLine();
    if (stop === INCOMPLETE) {
      this.#start = this.#at = this.#held.length - (this.#held.at(-1) === CR ? 1 : 0);
      return undefined;
    }
    this.#longLine = undefined;
    this.#cells = [beginning];
    this.#lines = 1;
    return this.#recordTo(stop, { isBroken: true, isTooLong: true });
  }

  /** The position after the line in which the present record begins, or INCOMPLETE. */
  #endOfLine(): number {
    const held = this.#held;
    let at = this.#start;
    while (at < held.length && held[at] !== LF && held[at] !== CR) at++;
    this.bytesRead += at - this.#start;
    if (at === held.length) return this.#isLast ? at : INCOMPLETE;
    return held[at] === CR && at + 1 === held.length && !this.#isLast ? INCOMPLETE : this.#behindBreak(at);
  }

  #recordTo(end: number, { isBroken, isTooLong } = { isBroken: false, isTooLong: false }): CsvRecord {
    const [cells, line, lines] = [this.#cells, this.#line, this.#lines];
    this.#start = this.#at = end;
    this.#quoteFrom = 0;
    this.#cells = [];
    this.#line += lines;
    this.#lines = 1;
    return { cells, end: this.#heldStart + end, line, lines, isBroken, isTooLong };
  }
}
