/**
 * Reads CSV out of UTF-8 bytes that come in pieces, by csv-parse, and says at which byte and line each record stands, so
 * that an import can go on from there. What people upload is not always CSV: lines end in LF, CRLF or CR, text follows
 * a closing quote, and a quote that is never closed costs its own line only.
 */
import { Parser } from 'csv-parse';

export interface CsvRecord {
  readonly cells: readonly string[];
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

export interface CsvReaderOptions {
  readonly separator: string;
  /** Offset of the first byte that will be pushed, and the number of its line. */
  readonly offset?: number;
  readonly line?: number;
}

/** A hundred fields of four thousand characters, with room. A longer one has lost its closing quote. */
export const RECORD_BYTES_MAX = 1024 * 1024;
/** As many columns as anybody exports; a record with more is cut there, and so does not fit its header. */
const CELLS_MAX = 2_000;
/** What is kept of a line that is too long: more than a report stores. */
const BEGINNING_BYTES = 64 * 1024;

const LF = 0x0a;
const CR = 0x0d;
/** A quoted cell with the blanks before it. A tab is one, unless it separates. */
const QUOTED = /\s*"((?:[^"]|"")*)"/y;
const QUOTED_BEHIND_TABS = /[^\S\t]*"((?:[^"]|"")*)"/y;
const LINE_END = /\r\n|\n|\r/g;
/** Ends the work of a parser from inside of it; what it holds is given to a new one. */
const UNREADABLE = new Error('A record of a CSV file cannot be read.');

/** csv-parse, asked for where it stands at each record: its own way to say that takes longer than the parsing. */
class RecordParser extends Parser {
  readonly #take: (cells: string[]) => void;

  constructor(separator: string, take: (cells: string[]) => void) {
    super({
      delimiter: separator,
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_quotes: true,
      relax_column_count: true,
      ltrim: true,
    });
    this.#take = take;
    // Read from `errored`, at once.
    this.on('error', () => undefined);
  }

  override push(cells: string[] | null): boolean {
    if (cells !== null) this.#take(cells);
    return true;
  }
}

export class CsvReader {
  readonly #separator: string;
  readonly #quoted: RegExp;
  #parser: RecordParser;
  /** Where the parser began; lines it had counted at the end of the last record. */
  #parserStart: number;
  #parserLines = 0;
  /** Bytes of which no record has been made, and the offset of the first one. */
  #held: Buffer = Buffer.alloc(0);
  #heldStart: number;
  #records: CsvRecord[] = [];
  /** Where the next record begins. */
  #start: number;
  #line: number;
  /** The beginning of a line that is too long, while its end is looked for. */
  #longLine: string | undefined;

  constructor({ separator, offset = 0, line = 1 }: CsvReaderOptions) {
    this.#separator = separator;
    this.#quoted = separator === '\t' ? QUOTED_BEHIND_TABS : QUOTED;
    this.#parserStart = this.#heldStart = this.#start = offset;
    this.#line = line;
    this.#parser = this.#newParser();
  }

  /** Takes the next piece of the file and answers the records that end in it; `isLast` says that nothing follows. */
  push(piece: Uint8Array, isLast = false): readonly CsvRecord[] {
    this.#records = [];
    let fresh = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    this.#held = this.#held.length === 0 ? fresh : Buffer.concat([this.#held, fresh]);
    if (this.#longLine !== undefined) {
      if (!this.#endLongLine(isLast)) return this.#records;
      fresh = this.#restart();
    }
    while (!this.#parse(fresh, isLast)) {
      this.#dropRead();
      if (!this.#rejectLine(isLast)) return this.#records;
      fresh = this.#restart();
    }
    this.#dropRead();
    return this.#records;
  }

  /** False when the first record of what is held cannot be read. */
  #parse(fresh: Buffer, isLast: boolean): boolean {
    try {
      this.#parser.write(fresh);
      if (isLast) this.#parser.end();
    } catch (error) {
      if (error !== UNREADABLE) throw error;
      return false;
    }
    if (this.#parser.errored) return false;
    const rest = this.#heldStart + this.#held.length - this.#start;
    // The parser makes nothing of blanks at the end.
    if (isLast && rest > 0) this.#add({ cells: [''], end: this.#start + rest, lines: 1 });
    return isLast || rest <= RECORD_BYTES_MAX;
  }

  #newParser(): RecordParser {
    return new RecordParser(this.#separator, (cells) => this.#take(cells));
  }

  /** A new parser for what is held. */
  #restart(): Buffer {
    this.#dropRead();
    this.#parser = this.#newParser();
    this.#parserStart = this.#start;
    this.#parserLines = 0;
    return this.#held;
  }

  #dropRead(): void {
    this.#held = this.#held.subarray(this.#start - this.#heldStart);
    this.#heldStart = this.#start;
  }

  #take(cells: string[]): void {
    const end = this.#parserStart + this.#parser.info.bytes;
    if (end - this.#start > RECORD_BYTES_MAX) throw UNREADABLE;
    const lines = this.#parser.info.lines - this.#parserLines;
    this.#parserLines = this.#parser.info.lines;
    if (cells.length > CELLS_MAX) cells.length = CELLS_MAX;
    if (lines === 1 && !cells.some(isUnusual)) return this.#add({ cells, end, lines });
    const text = this.#held.toString('utf8', this.#start - this.#heldStart, end - this.#heldStart);
    const hasEnd = text.endsWith('\n') || text.endsWith('\r');
    const read = this.#cellsOf(hasEnd ? text.slice(0, text.endsWith('\r\n') ? -2 : -1) : text);
    if (read === undefined) throw UNREADABLE;
    this.#add({ cells: read, end, lines: (text.match(LINE_END)?.length ?? 0) + (hasEnd ? 0 : 1) });
  }

  /**
   * The cells of a record with something in it that csv-parse leaves as it is: blanks at the end of a cell go, and what
   * follows a closing quote belongs to the cell. Undefined when that comes lines behind the opening quote: it closes nothing then.
   */
  #cellsOf(text: string): string[] | undefined {
    const cells: string[] = [];
    for (let at = 0; cells.length < CELLS_MAX;) {
      this.#quoted.lastIndex = at;
      const inside = this.#quoted.exec(text)?.[1];
      const from = inside === undefined ? at : this.#quoted.lastIndex;
      const stop = text.indexOf(this.#separator, from);
      const more = text.slice(from, stop === -1 ? text.length : stop);
      if (inside === undefined) cells.push(more.trim());
      else if (more.trim() !== '' && /[\r\n]/.test(inside)) return undefined;
      else cells.push(inside.replaceAll('""', '"') + more.trimEnd());
      if (stop === -1) break;
      at = stop + 1;
    }
    return cells;
  }

  /** Only the first line is lost: what follows it is read as if the quote had not been there. False when its end is not here yet. */
  #rejectLine(isLast: boolean): boolean {
    const end = endOfLine(this.#held);
    if (end === -1 && !isLast) {
      this.#longLine = this.#held.toString('utf8', 0, BEGINNING_BYTES).trim();
      return this.#endLongLine(isLast);
    }
    const length = end === -1 ? this.#held.length : end;
    const cells = [this.#held.toString('utf8', 0, length).trim()];
    this.#add({ cells, end: this.#start + length, lines: 1, isBroken: true, isTooLong: length > RECORD_BYTES_MAX });
    return true;
  }

  /** Rejects a line that is too long when its end has come; until then its bytes are passed over. */
  #endLongLine(isLast: boolean): boolean {
    const end = endOfLine(this.#held);
    const length = end === -1 ? this.#held.length : end;
    if (end === -1 && !isLast) {
      this.#heldStart += length;
      this.#held = this.#held.subarray(length);
      return false;
    }
    const cells = [this.#longLine ?? ''];
    this.#longLine = undefined;
    this.#add({ cells, end: this.#heldStart + length, lines: 1, isBroken: true, isTooLong: true });
    return true;
  }

  #add(record: Partial<CsvRecord> & Pick<CsvRecord, 'cells' | 'end' | 'lines'>): void {
    this.#records.push({ isBroken: false, isTooLong: false, ...record, line: this.#line });
    this.#start = record.end;
    this.#line += record.lines;
  }
}

/** A quote that may be no part of the cell, or blanks that are none. */
function isUnusual(cell: string): boolean {
  return cell.startsWith('"') || cell.trimEnd().length !== cell.length;
}

/** Where the first line ends, its line end included; -1 when that is not among the bytes. */
function endOfLine(bytes: Buffer): number {
  const [lf, cr] = [bytes.indexOf(LF), bytes.indexOf(CR)];
  const at = lf === -1 || (cr !== -1 && cr < lf) ? cr : lf;
  if (at === -1) return -1;
  return bytes[at] === CR && bytes[at + 1] === LF ? at + 2 : at + 1;
}
