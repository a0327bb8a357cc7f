/**
 * Looks at every statement that the tests run: its result must have the columns that the statement declares. With
 * STATEMENTS_RUN set to a file, the places in the product that ran a statement are written to it, for
 * `npm run statements:check`. Loaded before each test file.
 */
import { appendFileSync } from 'node:fs';
import path from 'node:path';
import pg, { type QueryResult } from 'pg';
import { ANY_COLUMNS } from '../../scripts/support/query-rows.ts';
import { observeStatements } from '../../src/db/observe-statements.ts';
import type { Columns, ColumnTypes } from '../../src/db/row.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const { builtins } = pg.types;
/** The ids that PostgreSQL has for types; the client has no names for the numbers here. */
const TYPE_IDS: Readonly<Record<keyof ColumnTypes, readonly number[]>> = {
  bigint: [builtins.INT8],
  'bigint[]': [1016],
  bool: [builtins.BOOL],
  bytea: [builtins.BYTEA],
  date: [builtins.DATE],
  float8: [builtins.FLOAT8],
  int: [builtins.INT4],
  'int[]': [1007],
  json: [builtins.JSON, builtins.JSONB],
  name: [19],
  smallint: [builtins.INT2],
  text: [builtins.TEXT],
  'text[]': [1009],
  timestamptz: [builtins.TIMESTAMPTZ],
};

/** How a result differs from its columns; undefined: it does not. */
export function faultOf(columns: Columns, { fields, rows }: Pick<QueryResult, 'fields' | 'rows'>): string | undefined {
  const declared = new Map(Object.entries(columns).map(([name, column]) => [name, String(column)]));
  const given = new Set(fields.map(({ name }) => name));
  const missing = [...declared.keys()].filter((name) => !given.has(name));
  if (missing.length > 0) return `The statement gives no column ${missing.join(', ')}.`;
  const idsOf: Readonly<Record<string, readonly number[]>> = TYPE_IDS;
  for (const { name, dataTypeID } of fields) {
    const type = declared.get(name);
    if (type === undefined) return `The statement gives a column ${name} that is not declared.`;
    if (!idsOf[type.replace('?', '')]?.includes(dataTypeID))
      return `Column ${name} is declared as ${type}, but has the type with the id ${dataTypeID}.`;
    if (!type.endsWith('?') && rows.some((row: Readonly<Record<string, unknown>>) => row[name] === null))
      return `Column ${name} is NULL in a row, but declared as ${type}, not as ${type}?.`;
  }
  return undefined;
}

const file = process.env['STATEMENTS_RUN'];
/** Environment of a program that a test starts, so that its statements are checked and recorded too. */
export const OBSERVED: Readonly<Record<string, string>> =
  file === undefined ? {} : { STATEMENTS_RUN: file, NODE_OPTIONS: `--import=${import.meta.filename}` };
/** By the frames as they are before source maps: reading those for every statement would take longer than most statements. */
const known = new Set<string>();
/** Enough for the functions between the observer and the statement's place. */
const FRAMES_MAX = 12;

function recordPlace(to: string): void {
  const before = { limit: Error.stackTraceLimit, prepare: Error.prepareStackTrace };
  Error.stackTraceLimit = FRAMES_MAX;
  Error.prepareStackTrace = (_, sites) =>
    sites.map((site) => `${site.getFileName()}:${site.getLineNumber()}:${site.getColumnNumber()}`).join('\n');
  const frames = String(new Error('where it runs').stack);
  Error.prepareStackTrace = before.prepare;
  if (!known.has(frames)) {
    known.add(frames);
    const place = placeOf(String(new Error('where it runs').stack));
    if (place !== undefined) appendFileSync(to, `${place}\n`);
  }
  Error.stackTraceLimit = before.limit;
}

const FRAME = /\(?(?:file:\/\/)?(\/[^()]*?):(\d+):\d+\)?$/;
/** The means by which a statement runs; what stands above them in the stack has the statement. */
const MEANS = new Set(['src/db/database.ts', 'src/db/observe-statements.ts', 'src/db/repeat-on-collision.ts']);

function placeOf(stack: string): string | undefined {
  for (const line of stack.split('\n')) {
    const [, absolute, no] = FRAME.exec(line) ?? [];
    if (absolute === undefined) continue;
    const relative = path.relative(ROOT, absolute);
    if (/^(src|plugins)\//.test(relative) && !MEANS.has(relative)) return `${relative}:${no}`;
  }
  return undefined;
}

observeStatements((statement, columns) => {
  if (file !== undefined) recordPlace(file);
  if (columns === undefined || columns === ANY_COLUMNS) return undefined;
  return (result) => {
    const fault = faultOf(columns, result);
    if (fault !== undefined) throw new Error(`${fault}\n${statement.text}`);
  };
});
