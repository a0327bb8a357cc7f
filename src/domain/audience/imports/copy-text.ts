/** People and rejected lines in PostgreSQL's text format for COPY. */
import type { Rejection } from './import-batch.ts';
import type { ImportKey } from './list-import.ts';
import type { FieldColumn, Person } from './person.ts';

/** What goes to the socket at once: fewer, larger writes cost less than one a row. */
const PIECE_CHARACTERS = 64 * 1024;
/** A rejected line is kept to be read and mended by a person. */
const REJECTED_CELLS_MAX = 16_000;

export interface PeopleToCopy {
  readonly people: readonly Person[];
  readonly fieldColumns: readonly FieldColumn[];
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly source: string;
}

export const COPY_PEOPLE = `COPY subscriber (customer_id, list_id, source, email, email_key, status, fields, tags) FROM STDIN`;
export const COPY_REJECTIONS = `COPY import_rejection (customer_id, import_id, line_no, reason, cells) FROM STDIN`;

/** Rows for COPY_PEOPLE. */
export function* copyPeople({ people, fieldColumns, customerId, listId, source }: PeopleToCopy): Generator<string> {
  const toJson = fieldsWriter(fieldColumns);
  const prefix = `${customerId}\t${listId}\t${source}\t`;
  let piece = '';
  for (const person of people) {
    // No backslash, tab or line break passes the check of an address.
    piece += `${prefix}${person.email}\t${person.key}\t${person.status ?? 'subscribed'}\t${escaped(toJson(person))}\t${tagsLiteral(person.tags)}\n`;
    if (piece.length >= PIECE_CHARACTERS) {
      yield piece;
      piece = '';
    }
  }
  yield piece;
}

/** Rows for COPY_REJECTIONS. */
export function* copyRejections({ customerId, id }: ImportKey, rejections: readonly Rejection[]): Generator<string> {
  for (const { line, reason, cells } of rejections) {
    yield `${customerId}\t${id}\t${line}\t${escaped(storable(reason))}\t${escaped(cellsText(cells))}\n`;
  }
}

// Texts that stand in JSON as they are; the database has no half surrogate pairs, so JSON.stringify has no other work.
const NEEDS_ESCAPES = /["\\\u0000-\u001f]/;

/** Writes a person's values as the JSON object of the column `fields`. */
export function fieldsWriter(fieldColumns: readonly FieldColumn[]): (person: Person) => string {
  const named = fieldColumns.map(({ tag, index }) => ({ index, name: `${JSON.stringify(tag)}:` }));
  return ({ cells }) => {
    let json = '';
    for (const { index, name } of named) {
      const value = cells[index] ?? '';
      if (value === '') continue;
      json += `${json === '' ? '' : ','}${name}${NEEDS_ESCAPES.test(value) ? JSON.stringify(value) : `"${value}"`}`;
    }
    return `{${json}}`;
  };
}

/** JSON keeps what a text of the database may not hold (NUL) as an escape. */
function cellsText(cells: readonly string[]): string {
  const text = JSON.stringify(cells);
  return text.length <= REJECTED_CELLS_MAX
    ? text
    : JSON.stringify([`${cells.join(' ').slice(0, REJECTED_CELLS_MAX / 8)}…`]);
}

function storable(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

function tagsLiteral(tags: readonly string[]): string {
  if (tags.length === 0) return '{}';
  return escaped(`{${tags.map((tag) => `"${tag.replace(/["\\]/g, '\\$&')}"`).join(',')}}`);
}

const SPECIAL = /[\\\n\r\t]/;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escaped(text: string): string {
  return SPECIAL.test(text) ? text.replace(/[\\\n\r\t]/g, (character) => ESCAPES[character] ?? character) : text;
}
