/** One person of an import file: the checked content of a line, or a reason why it is rejected. */
import { guarded, unguarded } from '../../../lib/csv.ts';
import { emailKey, isEmailAddress, isOneLine } from '../../../lib/text.ts';
import { readFieldValue, type FieldKind } from '../field-value.ts';
import type { ListField } from '../list-field.ts';
import { TAG_LENGTH_MAX, TAGS_MAX, distinctTags, tagKey } from '../subscriber.ts';
import type { AskAboutRow, RowValues } from './ask-about-row.ts';
import type { CsvRecord } from './csv-reader.ts';
import type { RejectionReason } from './import-report.ts';
import { SPECIAL_TARGETS, type ImportColumn } from './list-import.ts';

/** Consent statuses that a file may contain. */
export const IMPORTED_STATUSES = ['subscribed', 'unsubscribed', 'unconfirmed'] as const;
export type ImportedStatus = (typeof IMPORTED_STATUSES)[number];

export interface Person {
  readonly email: string;
  readonly key: string;
  /** Undefined when the file has none: a new person is subscribed, an existing one stays unchanged. */
  readonly status: ImportedStatus | undefined;
  /** Values by tag; absent where the file has none. */
  readonly fields: Readonly<Record<string, string>>;
  /** Of all lines, as far as more than a person may have: `limitTags` decides then. */
  readonly tags: readonly string[];
  /** In the order of the file. */
  readonly lines: PersonLine[];
}

/** A line of the file about a person. */
export interface PersonLine {
  readonly line: number;
  readonly cells: readonly string[];
  readonly tags: readonly string[];
  /** The person would have too many tags with these: the rest of the line is taken. */
  readonly areTagsLeftOut: boolean;
  /** What is wrong with values that were left out of an opt-out. */
  readonly fault?: RejectionReason | undefined;
  /** It repeats the person, with another status or other fields than the lines before it; with more tags. */
  readonly changes: boolean;
  readonly addsTags: boolean;
}

/** A column with the values of a field. */
export interface FieldColumn {
  readonly index: number;
  readonly tag: string;
  readonly kind: FieldKind;
}

/** How the records of one file are read. */
export interface PersonReader {
  readonly columns: readonly ImportColumn[];
  readonly fieldColumns: readonly FieldColumn[];
  readonly emailAt: number;
  /** -1: the file has no such column. */
  readonly statusAt: number;
  readonly tagsAt: number;
  /** Added to everybody. */
  readonly commonTags: readonly string[];
  /** Plugins that change or refuse lines. */
  readonly plugins?: AskAboutRow | undefined;
  /** A person, the reason of a rejection, or undefined for an empty line. */
  read(record: CsvRecord): Person | RejectionReason | undefined;
}

export interface PersonReaderOptions {
  readonly columns: readonly ImportColumn[];
  readonly fields: readonly Pick<ListField, 'tag' | 'type' | 'options'>[];
  /** Added to everybody; several are separated by commas. */
  readonly tag: string | null;
  readonly plugins?: AskAboutRow | undefined;
}

const STATUSES: ReadonlyMap<string, ImportedStatus> = new Map([
  ...['subscribed', 'subscribe', 'active', 'confirmed', 'opted in', 'opted-in', 'optin', 'enabled'].map(
    (word) => [word, 'subscribed'] as const,
  ),
  ...['unsubscribed', 'unsubscribe', 'inactive', 'opted out', 'opted-out', 'optout', 'disabled'].map(
    (word) => [word, 'unsubscribed'] as const,
  ),
  ...['unconfirmed', 'pending', 'not confirmed', 'unverified'].map((word) => [word, 'unconfirmed'] as const),
]);

/** Separators in a cell of tags; one inside a tag has a backslash before it, as in our own exports. */
const TAGS = /(?:\\[\\,;|]|[^,;|])+/g;
const SHOWN_VALUE_MAX = 40;
const REPLACEMENT = '\ufffd';

/** A reader of records for one plan. A column whose field was deleted since is ignored. */
export function createPersonReader(options: PersonReaderOptions): PersonReader {
  const reading = readingOf(options);
  if (!options.plugins) return { ...reading, read: (record) => readPerson(record, reading) };
  // What a plugin returns is read as a line with all columns that the list allows.
  const columns = [...SPECIAL_TARGETS, ...options.fields.map(({ tag }) => tag)].map((target) => ({
    header: '',
    target,
  }));
  const asked = readingOf({ ...options, columns });
  return { ...reading, read: (record) => readPerson(record, reading, asked) };
}

type Reading = Omit<PersonReader, 'read'>;

function readingOf({ columns, fields, tag, plugins }: PersonReaderOptions): Reading {
  const byTag = new Map(fields.map((field) => [field.tag, field]));
  const fieldColumns = columns.flatMap(({ target }, index): FieldColumn[] => {
    const kind = target === null ? undefined : byTag.get(target);
    return kind === undefined ? [] : [{ index, tag: kind.tag, kind }];
  });
  const at = (target: string) => columns.findIndex((column) => column.target === target);
  return {
    ...{ columns, fieldColumns, plugins, commonTags: tag === null ? [] : tag.split(',') },
    ...{ emailAt: at('EMAIL'), statusAt: at('STATUS'), tagsAt: at('TAGS') },
  };
}

function readPerson(record: CsvRecord, reading: Reading, asked?: Reading): Person | RejectionReason | undefined {
  const { cells, line } = record;
  if (record.isTooLong) return { code: 'line_too_long', params: {} };
  if (record.isBroken) return { code: 'quote_not_closed', params: {} };
  if (cells.every((cell) => cell.trim() === '')) return undefined;
  const { columns, plugins } = reading;
  // With an unquoted separator in a value, no cell of the line can be trusted.
  if (cells.slice(columns.length).some((cell) => cell !== ''))
    return { code: 'too_many_cells', params: { cells: cells.length, columns: columns.length } };
  if (!asked || !plugins?.isAsked() || statusOf(cells[reading.statusAt] ?? '') === 'unsubscribed')
    return personOf(record, cells, reading);
  const answer = plugins.ask(line, valuesOf(cells, columns));
  if ('code' in answer) return answer;
  return personOf(
    record,
    asked.columns.map(({ target }) => guarded(answer.values[target ?? ''] ?? '')),
    asked,
  );
}

function valuesOf(cells: readonly string[], columns: readonly ImportColumn[]): RowValues {
  const values: Record<string, string> = {};
  for (const [index, { target }] of columns.entries())
    if (target !== null) values[target] = unguarded(cells[index] ?? '');
  return values;
}

/** The person of a line with these cells. */
function personOf(
  { line, cells: ofFile }: CsvRecord,
  cells: readonly string[],
  { fieldColumns, emailAt, statusAt, tagsAt, commonTags }: Reading,
): Person | RejectionReason {
  // Our exports put an apostrophe before what a spreadsheet would take for a formula; here it is removed.
  const email = unguarded(cells[emailAt] ?? '').trim();
  if (email === '') return { code: 'email_missing', params: {} };
  if (!isEmailAddress(email)) return { code: 'email_invalid', params: { email: shown(email) } };
  const status = statusOf(cells[statusAt] ?? '');
  if (status === null) return { code: 'status_unknown', params: { status: shown(cells[statusAt] ?? '') } };
  const tags = tagsOf(unguarded(cells[tagsAt] ?? ''), commonTags);
  const read = fieldsOf(cells, fieldColumns);
  const fault = 'code' in tags ? tags : 'code' in read ? read : undefined;
  // An opt-out is obeyed even where other values of its line are wrong (decision D48): these are left out and reported.
  if (fault && status !== 'unsubscribed') return fault;
  const fields = 'code' in read ? {} : read.fields;
  const right = 'code' in tags ? [] : tags;
  const areTagsLeftOut = right.length > TAGS_MAX;
  const taken = areTagsLeftOut ? [] : right;
  const lines = [{ line, cells: ofFile, tags: taken, areTagsLeftOut, fault, changes: false, addsTags: false }];
  return { email, key: emailKey(email), status, fields, tags: taken, lines };
}

/** The values in their stored form, unless one is invalid. */
function fieldsOf(cells: readonly string[], columns: readonly FieldColumn[]): Pick<Person, 'fields'> | RejectionReason {
  const fields: Record<string, string> = {};
  for (const { index, tag, kind } of columns) {
    const text = unguarded(cells[index] ?? '');
    if (text.trim() === '') continue;
    if (text.includes(REPLACEMENT)) return { code: 'field_not_readable', params: { tag } };
    const { value, fault } = readFieldValue(kind, text);
    if (fault !== undefined) return { code: 'field_invalid', params: { tag, fault } };
    fields[tag] = value;
  }
  return { fields };
}

/** Null for an unknown word. */
function statusOf(cell: string): ImportedStatus | undefined | null {
  const word = cell.trim().toLowerCase();
  return word === '' ? undefined : (STATUSES.get(word) ?? null);
}

/** The tags of a cell and those of everybody, unless they are invalid. */
function tagsOf(cell: string, common: readonly string[]): readonly string[] | RejectionReason {
  if (cell === '') return common;
  const tags = distinctTags([...common, ...tagsIn(cell)]);
  if (!tags.every((tag) => isOneLine(tag) && !tag.includes(REPLACEMENT)))
    return { code: 'tag_not_readable', params: {} };
  return tags.every((tag) => tag.length <= TAG_LENGTH_MAX) ? tags : { code: 'tag_too_long', params: {} };
}

function tagsIn(cell: string): string[] {
  return (cell.match(TAGS) ?? []).map((tag) => tag.replace(/\\([\\,;|])/g, '$1').trim());
}

/**
 * Adds a later line of the same person: it adds to the earlier ones and overrides them. Unsubscribed people stay so, and
 * `unconfirmed` never replaces another status, within a slice as between slices.
 */
export function mergePerson(known: Person, later: Person): Person {
  const fields = { ...known.fields, ...later.fields };
  const isKept = known.status === 'unsubscribed' || later.status === 'unconfirmed';
  const status = isKept ? known.status : (later.status ?? known.status);
  // One tag more than allowed says enough: a person on thousands of lines costs no more.
  const tags = known.tags.length > TAGS_MAX ? known.tags : distinctTags([...known.tags, ...later.tags]);
  const changes =
    status !== known.status || Object.entries(later.fields).some(([tag, value]) => known.fields[tag] !== value);
  for (const line of later.lines) known.lines.push({ ...line, changes, addsTags: tags.length > known.tags.length });
  return { ...known, fields, status, tags: tags.slice(0, TAGS_MAX + 1) };
}

/**
 * Takes the tags of a person's lines, one line after the other, and leaves out those of a line with which the person would
 * have too many; `stored`: tags that the person has already. Returns the person with the tags to be added.
 */
export function limitTags(person: Person, stored: readonly string[]): Person {
  const keys = new Set(stored.map(tagKey));
  const added: string[] = [];
  const lines = person.lines.map((line) => {
    const more = line.tags.filter((tag) => !keys.has(tagKey(tag)));
    const areTooMany = more.length > 0 && keys.size + more.length > TAGS_MAX;
    for (const tag of areTooMany ? [] : more) {
      keys.add(tagKey(tag));
      added.push(tag);
    }
    return { ...line, areTagsLeftOut: line.areTagsLeftOut || areTooMany, addsTags: more.length > 0 && !areTooMany };
  });
  return { ...person, lines, tags: added };
}

function shown(text: string): string {
  return text.length > SHOWN_VALUE_MAX ? `${text.slice(0, SHOWN_VALUE_MAX)}…` : text;
}
