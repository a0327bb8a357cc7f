/**
 * The people of a batch as the database wants them: rows of COPY text in one stretch of bytes, found by address. A
 * million people make no million objects; whoever must be looked at closely is unpacked.
 */
import { hashBytes } from '../../../lib/hash-bytes.ts';
import { copyText, copyTextArray } from './copy-text.ts';
import { hashValues } from './hash-values.ts';
import { IMPORTED_STATUSES, type Person } from './person.ts';

/** What precedes and follows what is known of a person in every row. */
export interface RowFrame {
  /** Columns before the address, ready for COPY. */
  readonly prefix: string;
  /** Tags of whoever has no others. */
  readonly commonTags: readonly string[];
}

export const COPY_PEOPLE =
  'COPY subscriber (customer_id, list_id, source, email, email_key, status, fields, tags) FROM STDIN';

/** Where the parts of one row lie. */
export interface PackedRow {
  readonly start: number;
  readonly keyStart: number;
  readonly keyStop: number;
  readonly fieldsStart: number;
  readonly fieldsStop: number;
  readonly end: number;
  readonly hash: number;
  readonly line: number;
}

/** Most of what a row needs beside what stands in its line of the file. */
const BYTES_FIRST = 1024 * 1024;
const STATUS_NONE = 0;
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const NEWLINE = 0x0a;
/** What goes to the socket at once. */
const PIECE_BYTES = 256 * 1024;

export class PackedPeople {
  /** Room for rows; grows. The packer writes behind `size` and then calls `append`. */
  bytes = Buffer.allocUnsafe(BYTES_FIRST);
  size = 0;
  readonly frame: RowFrame;
  readonly prefix: Buffer;
  /** What stands behind the status of somebody of whom the file says no tags. */
  readonly suffix: Buffer;
  /** Rows, those included that a later line replaced. */
  #rows = 0;
  #replaced = 0;
  readonly #offsets: Int32Array;
  readonly #hashes: Uint32Array;
  readonly #statuses: Uint8Array;
  readonly #isReplaced: Uint8Array;
  readonly #lines: Int32Array;
  /** Rows by address: an open hash table of row numbers, counted from 1. */
  readonly #table: Int32Array;
  readonly #tags = new Map<number, readonly string[]>();

  constructor(frame: RowFrame, rowsMax: number) {
    this.frame = frame;
    this.prefix = Buffer.from(frame.prefix);
    this.suffix = Buffer.from(`\t${copyTextArray(frame.commonTags)}\n`);
    this.#offsets = new Int32Array(rowsMax * OFFSETS);
    this.#hashes = new Uint32Array(rowsMax);
    this.#statuses = new Uint8Array(rowsMax);
    this.#isReplaced = new Uint8Array(rowsMax);
    this.#lines = new Int32Array(rowsMax);
    this.#table = new Int32Array(2 ** Math.ceil(Math.log2(rowsMax * 2 + 1)));
  }

  /** Forgets everybody; the room stays. */
  clear(): void {
    this.size = 0;
    this.#table.fill(0);
    this.#isReplaced.fill(0, 0, this.#rows);
    this.#tags.clear();
    this.#rows = 0;
    this.#replaced = 0;
  }

  /** People, each counted once. */
  get count(): number {
    return this.#rows - this.#replaced;
  }

  /** The row that was taken in last. */
  get last(): number {
    return this.#rows - 1;
  }

  /** Makes sure that `more` bytes fit behind `size`. */
  reserve(more: number): void {
    if (this.size + more <= this.bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.size + more));
    this.bytes.copy(larger, 0, 0, this.size);
    this.bytes = larger;
  }

  /** Takes in the row that was written behind `size`; false, and nothing is taken, when the address is there already. */
  append(row: PackedRow): boolean {
    const slot = this.#slotOf(row);
    if (this.#table[slot] !== 0) return false;
    this.#keep(slot, row, STATUS_NONE);
    return true;
  }

  /** Takes in a person, in place of what was known of the same one. */
  put(person: Person): void {
    const row = this.#write(person);
    const slot = this.#slotOf(row);
    const before = (this.#table[slot] ?? 0) - 1;
    if (before >= 0) {
      this.#isReplaced[before] = 1;
      this.#replaced++;
    }
    this.#tags.set(this.#rows, person.tags);
    this.#keep(slot, row, person.status === undefined ? STATUS_NONE : IMPORTED_STATUSES.indexOf(person.status) + 1);
  }

  /** The row of this address, or undefined. */
  find(key: string): number | undefined {
    this.reserve(key.length * 3);
    const stop = this.size + this.bytes.write(key, this.size);
    const hash = hashOf(this.bytes, this.size, stop);
    const found = this.#table[this.#slotOf({ hash, keyStart: this.size, keyStop: stop })] ?? 0;
    return found === 0 ? undefined : found - 1;
  }

  /** Whether somebody may be in both; a rare yes is wrong, no is certain. */
  sharesSomebodyWith(other: PackedPeople): boolean {
    for (const row of this.rows()) if (other.#hasHash(this.hash(row))) return true;
    return false;
  }

  /** All rows that count. */
  *rows(): Generator<number> {
    for (let row = 0; row < this.#rows; row++) if (this.#isReplaced[row] === 0) yield row;
  }

  key(row: number): string {
    return this.bytes.toString('utf8', this.#part(row, KEY_START), this.#part(row, KEY_STOP));
  }

  hash(row: number): number {
    return this.#hashes[row] ?? 0;
  }

  /** A hash of the row's address and one of its values, two words each; false when of the values nothing can be said. */
  digest(row: number, names: readonly Buffer[], into: Uint32Array): boolean {
    const spanOf = (start: number, stop: number) => ({ start: this.#part(row, start), stop: this.#part(row, stop) });
    into.fill(0);
    hashBytes(this.bytes, spanOf(KEY_START, KEY_STOP), { into, at: 0 });
    return hashValues(this.bytes, spanOf(FIELDS_START, FIELDS_STOP), { names, into, at: 2 });
  }

  /** What the file says of the person's status; undefined when nothing. */
  status(row: number): Person['status'] {
    return IMPORTED_STATUSES[(this.#statuses[row] ?? 0) - 1];
  }

  tags(row: number): readonly string[] {
    return this.#tags.get(row) ?? this.frame.commonTags;
  }

  /** The values as JSON. */
  fieldsJson(row: number): string {
    return unescaped(this.bytes.toString('utf8', this.#part(row, FIELDS_START), this.#part(row, FIELDS_STOP)));
  }

  unpack(row: number): Person {
    const key = this.key(row);
    // The address as it was given stands between the prefix and its key.
    const email = this.bytes.toString(
      'utf8',
      this.#part(row, START) + this.prefix.length,
      this.#part(row, KEY_START) - 1,
    );
    const fields: Person['fields'] = JSON.parse(this.fieldsJson(row));
    return { email, key, status: this.status(row), fields, tags: this.tags(row), line: this.#lines[row] ?? 0 };
  }

  /** Addresses of these rows, a line each. */
  keysText(rows: readonly number[]): Buffer {
    return this.#joined(rows, KEY_START, KEY_STOP);
  }

  /** JSON of the values of these rows, a line each. */
  fieldsText(rows: readonly number[]): Buffer {
    const text = this.#joined(rows, FIELDS_START, FIELDS_STOP);
    return text.includes(BACKSLASH) ? Buffer.from(unescaped(text.toString('utf8'))) : text;
  }

  /** Rows for COPY, in the order of the file, as views of the bytes: to be used before anything is added. */
  *copyPieces(isLeftOut: (row: number) => boolean): Generator<Buffer> {
    let start = -1;
    let end = -1;
    for (const row of this.rows()) {
      if (isLeftOut(row)) continue;
      if (this.#part(row, START) !== end || end - start >= PIECE_BYTES) {
        if (end > start) yield this.bytes.subarray(start, end);
        start = this.#part(row, START);
      }
      end = this.#part(row, END);
    }
    if (end > start) yield this.bytes.subarray(start, end);
  }

  #part(row: number, part: number): number {
    return this.#offsets[row * OFFSETS + part] ?? 0;
  }

  #keep(slot: number, row: PackedRow, status: number): void {
    const number = this.#rows++;
    const at = number * OFFSETS;
    this.#offsets[at + START] = row.start;
    this.#offsets[at + KEY_START] = row.keyStart;
    this.#offsets[at + KEY_STOP] = row.keyStop;
    this.#offsets[at + FIELDS_START] = row.fieldsStart;
    this.#offsets[at + FIELDS_STOP] = row.fieldsStop;
    this.#offsets[at + END] = row.end;
    this.#hashes[number] = row.hash;
    this.#statuses[number] = status;
    this.#lines[number] = row.line;
    this.#table[slot] = number + 1;
    this.size = row.end;
  }

  /** The slot that holds this address, or the free one where it belongs. */
  #slotOf({ hash, keyStart, keyStop }: Pick<PackedRow, 'hash' | 'keyStart' | 'keyStop'>): number {
    const mask = this.#table.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const row = (this.#table[slot] ?? 0) - 1;
      if (row < 0) return slot;
      if (this.#hashes[row] !== hash) continue;
      const [start, stop] = [this.#part(row, KEY_START), this.#part(row, KEY_STOP)];
      if (this.bytes.compare(this.bytes, keyStart, keyStop, start, stop) === 0) return slot;
    }
  }

  #hasHash(hash: number): boolean {
    const mask = this.#table.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const row = (this.#table[slot] ?? 0) - 1;
      if (row < 0) return false;
      if (this.#hashes[row] === hash) return true;
    }
  }

  #write(person: Person): PackedRow {
    const { email, key, status = 'subscribed', fields, tags, line } = person;
    const texts = [email, '\t', key, `\t${status}\t`, copyText(JSON.stringify(fields)), `\t${copyTextArray(tags)}\n`];
    this.reserve(this.prefix.length + 3 * texts.reduce((sum, text) => sum + text.length, 0));
    const start = this.size;
    const stops: number[] = [];
    let at = start + this.prefix.copy(this.bytes, start);
    for (const text of texts) stops.push((at += this.bytes.write(text, at)));
    const [, keyStart = 0, keyStop = 0, fieldsStart = 0, fieldsStop = 0, end = 0] = stops;
    return {
      start,
      keyStart,
      keyStop,
      fieldsStart,
      fieldsStop,
      end,
      hash: hashOf(this.bytes, keyStart, keyStop),
      line,
    };
  }

  #joined(rows: readonly number[], from: number, to: number): Buffer {
    const size = rows.reduce((sum, row) => sum + this.#part(row, to) - this.#part(row, from) + 1, 0);
    const text = Buffer.allocUnsafe(Math.max(1, size));
    let at = 0;
    for (const row of rows) {
      at += this.bytes.copy(text, at, this.#part(row, from), this.#part(row, to));
      text[at++] = NEWLINE;
    }
    return text.subarray(0, Math.max(0, at - 1));
  }
}

// The offsets of one row, in this order.
const START = 0;
const KEY_START = 1;
const KEY_STOP = 2;
const FIELDS_START = 3;
const FIELDS_STOP = 4;
const END = 5;
const OFFSETS = 6;
const BACKSLASH = 0x5c;

/** FNV-1a. */
export function hashOf(bytes: Uint8Array, start: number, stop: number): number {
  let hash = FNV_OFFSET;
  for (let at = start; at < stop; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), FNV_PRIME);
  return hash >>> 0;
}

/** JSON has no line breaks and tabs of its own, so only backslashes were escaped for COPY. */
function unescaped(text: string): string {
  return text.replaceAll('\\\\', '\\');
}
