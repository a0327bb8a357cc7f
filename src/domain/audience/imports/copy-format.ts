/** Rows of an import in the format of PostgreSQL's COPY: people and rejected lines as text, a piece of the file as its bytes. */
import { storedParams } from '../../../lib/coded-reason.ts';
import type { RejectionReason } from './import-report.ts';
import type { ImportKey } from './list-import.ts';
import type { Person } from './person.ts';

/** Text that is sent to the database at once. */
const PIECE_CHARACTERS = 64 * 1024;
const SPECIAL = /[\\\n\r\t]/;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };
const NULL = '\\N';

/** Rows of people, numbered from 0. */
export function copyPeople(people: Iterable<Person>): Generator<string> {
  return inPieces(people, ({ email, key, status, fields, tags }, row) =>
    [row, email, key, status ?? NULL, text(JSON.stringify(fields)), text(array(tags))].join('\t'),
  );
}

/** A rejected line of the file. */
export interface Rejection {
  readonly line: number;
  readonly reason: RejectionReason;
  readonly cells: readonly string[];
}

/** The limit of a rejected line that is kept for people to read and correct. */
const CELLS_TEXT_MAX = 16_000;
/** Of a longer one only the beginning is kept. */
const BEGINNING_MAX = 2_000;

/** Rows of rejected lines. */
export function copyRejections({ customerId, id }: ImportKey, rejections: Iterable<Rejection>): Generator<string> {
  return inPieces(rejections, ({ line, reason, cells }) =>
    [customerId, id, line, reason.code, jsonb(storedParams(reason)), text(cellsText(cells))].join('\t'),
  );
}

/** JSON stores NUL, which a text of the database cannot contain, as an escape. */
function cellsText(cells: readonly string[]): string {
  const json = JSON.stringify(cells);
  return json.length <= CELLS_TEXT_MAX ? json : JSON.stringify([`${cells.join(' ').slice(0, BEGINNING_MAX)}…`]);
}

function text(value: string): string {
  return SPECIAL.test(value) ? value.replace(/[\\\n\r\t]/g, (character) => ESCAPES[character] ?? character) : value;
}

function jsonb(json: string | null): string {
  return json === null ? NULL : text(json);
}

function array(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replace(/["\\]/g, '\\$&')}"`).join(',')}}`;
}

/** Lines of COPY, many at once: each piece is one message to the database. */
function* inPieces<Row>(rows: Iterable<Row>, line: (row: Row, no: number) => string): Generator<string> {
  let piece = '';
  let no = 0;
  for (const row of rows) {
    piece += `${line(row, no++)}\n`;
    if (piece.length < PIECE_CHARACTERS) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}

export interface NewChunk {
  readonly no: number;
  readonly bytes: Uint8Array;
  readonly isAscii: boolean;
}

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1');
const COLUMNS = 5;
const HEAD_BYTES = 64;
const TRAILER = Buffer.from([0xff, 0xff]);

/** A chunk in the binary format: a header, one row, the trailer. */
export function* copyChunk({ customerId, id }: ImportKey, { no, bytes, isAscii }: NewChunk): Generator<Uint8Array> {
  const head = Buffer.alloc(HEAD_BYTES);
  // After the signature: no flags, no header extension.
  let at = SIGNATURE.copy(head) + 8;
  at = head.writeInt16BE(COLUMNS, at);
  at = head.writeBigInt64BE(customerId, head.writeInt32BE(8, at));
  at = head.writeBigInt64BE(id, head.writeInt32BE(8, at));
  at = head.writeInt32BE(no, head.writeInt32BE(4, at));
  at = head.writeInt8(isAscii ? 1 : 0, head.writeInt32BE(1, at));
  at = head.writeInt32BE(bytes.length, at);
  yield head.subarray(0, at);
  yield bytes;
  yield TRAILER;
}
