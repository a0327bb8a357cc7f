/** One person of an import file, read from a record's cells: everything checked, or a reason why not. */
import { emailKey, isEmailAddress, isOneLine } from '../../../lib/text.ts';
import { fieldValueFault, type ListField } from '../list-field.ts';
import { TAG_LENGTH_MAX, TAGS_MAX, distinctTags } from '../subscriber.ts';
import type { CsvRecord } from './csv-scanner.ts';
import type { ImportColumn } from './list-import.ts';

/** What a file may say of a person's consent. */
export type ImportedStatus = 'subscribed' | 'unsubscribed' | 'unconfirmed';

export interface Person {
  readonly email: string;
  readonly key: string;
  /** Undefined when the file says nothing: a new person is subscribed, a known one stays as it is. */
  status: ImportedStatus | undefined;
  /** By column; what stands in the columns of fields is checked, and empty where the file says nothing. */
  readonly cells: string[];
  tags: readonly string[];
  /** Where the person was read. */
  readonly line: number;
}

/** A column that gives the values of a field. */
export interface FieldColumn {
  readonly index: number;
  readonly tag: string;
  readonly type: ListField['type'];
}

export interface PersonReader {
  readonly fieldColumns: readonly FieldColumn[];
  readonly givesStatus: boolean;
  readonly givesTags: boolean;
  /** A person; a text that says why there is none; or undefined for an empty line. */
  read(record: CsvRecord): Person | string | undefined;
}

export interface PersonReaderOptions {
  readonly columns: readonly ImportColumn[];
  readonly fields: readonly Pick<ListField, 'tag' | 'type'>[];
  /** Given to everybody. */
  readonly tag: string | null;
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

// Our own exports put an apostrophe before what a spreadsheet would take for a formula; here it comes off again.
const GUARDED = /^'+[=+\-@\t\r]/;
// Letters of any script without controls and halves of pairs: fine as a text, if it is short enough.
const PLAIN_TEXT = /^[^\u0000-\u001f\u007f-\u009f\ud800-\udfff\ufffd]*$/;
const PLAIN_LENGTH_MAX = 4_000;
const SHOWN_VALUE_MAX = 40;
const REPLACEMENT = '\ufffd';

/** A reader of records for one plan. A column whose field has gone since is not read. */
export function createPersonReader({ columns, fields, tag }: PersonReaderOptions): PersonReader {
  const typeOf = new Map(fields.map((field) => [field.tag, field.type]));
  const fieldColumns = columns.flatMap(({ target }, index): FieldColumn[] => {
    const type = target === null ? undefined : typeOf.get(target);
    return target === null || type === undefined ? [] : [{ index, tag: target, type }];
  });
  const at = (target: string) => columns.findIndex((column) => column.target === target);
  const [emailAt, statusAt, tagsAt] = [at('EMAIL'), at('STATUS'), at('TAGS')];
  const common = tag === null ? [] : [tag];
  return {
    fieldColumns,
    givesStatus: statusAt !== -1,
    givesTags: tagsAt !== -1 || tag !== null,
    read(record) {
      const { cells } = record;
      if (record.isBroken) return 'a quote in this line is never closed';
      if (cells.length <= 1 && (cells[0] ?? '').trim() === '') return undefined;
      const misfit = misfitOf(cells, columns.length);
      if (misfit !== undefined) return cells.every((cell) => cell.trim() === '') ? undefined : misfit;
      const email = (cells[emailAt] ?? '').trim();
      if (!isEmailAddress(email)) {
        if (email === '' && cells.every((cell) => cell.trim() === '')) return undefined;
        return email === '' ? 'the email address is missing' : `“${shown(email)}” is not a valid email address`;
      }
      const status = statusAt === -1 ? undefined : statusOf(cells[statusAt] ?? '');
      if (status === null)
        return `“${shown(cells[statusAt] ?? '')}” is no status: say subscribed, unsubscribed or unconfirmed`;
      const tags = tagsAt === -1 ? common : tagsOf(cells[tagsAt] ?? '', common);
      if (typeof tags === 'string') return tags;
      return (
        checkValues(cells, fieldColumns) ?? { email, key: emailKey(email), status, cells, tags, line: record.line }
      );
    },
  };
}

/** A line with more cells than columns has an unquoted separator somewhere, so no cell of it can be trusted. */
function misfitOf(cells: readonly string[], width: number): string | undefined {
  for (let index = width; index < cells.length; index++) {
    if (cells[index] !== '') return `the line has ${cells.length} cells, the file has ${width} columns`;
  }
  return undefined;
}

/** Leaves the values as they are stored; answers what is wrong with the first that cannot be taken. */
function checkValues(cells: string[], columns: readonly FieldColumn[]): string | undefined {
  for (const { index, tag, type } of columns) {
    const cell = cells[index] ?? '';
    if (cell === '') continue;
    const isUsual = type === 'text' && cell.length <= PLAIN_LENGTH_MAX && PLAIN_TEXT.test(cell);
    const text = GUARDED.test(cell) ? cell.slice(1) : cell;
    const fault = isUsual || text.trim() === '' ? undefined : faultOf(type, text);
    if (fault !== undefined) return `${tag} ${fault}`;
    cells[index] = type === 'text' && text.trim() !== '' ? text : text.trim();
  }
  return undefined;
}

function faultOf(type: ListField['type'], text: string): string | undefined {
  return (
    fieldValueFault(type, text) ?? (text.includes(REPLACEMENT) ? 'holds characters that cannot be read' : undefined)
  );
}

/** Null when the word is none. */
function statusOf(cell: string): ImportedStatus | undefined | null {
  const word = cell.trim().toLowerCase();
  return word === '' ? undefined : (STATUSES.get(word) ?? null);
}

/** The tags of a cell and those of everybody; a text when they cannot be taken. */
function tagsOf(cell: string, common: readonly string[]): readonly string[] | string {
  if (cell === '') return common;
  const tags = distinctTags([...common, ...cell.split(/[,;|]/).map((tag) => tag.trim())]);
  if (tags.length > TAGS_MAX) return `more than ${TAGS_MAX} tags`;
  if (!tags.every(isOneLine)) return 'a tag must not contain line breaks or control characters';
  return tags.every((tag) => tag.length <= TAG_LENGTH_MAX)
    ? tags
    : `a tag may not be longer than ${TAG_LENGTH_MAX} characters`;
}

function shown(text: string): string {
  return text.length > SHOWN_VALUE_MAX ? `${text.slice(0, SHOWN_VALUE_MAX)}…` : text;
}
