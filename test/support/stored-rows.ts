/** What a request stored: every row that is new or changed, and how to compare it with what another request stored. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { raw, sql } from '../../src/db/database.ts';
import type { RestApp } from './rest-app.ts';
import { PARTLY_WATCHED, stateOf } from './table-states.ts';

export type Stored = Record<string, unknown>;
/** Rows by what identifies them. */
type Rows = ReadonlyMap<string, Stored>;
/** By table. What was not written between two snapshots is the same object in both. */
type Snapshot = ReadonlyMap<string, Rows>;

/** What was read of a table last, and its state then: the worlds of many requests stand in one database. */
const lastRead = new WeakMap<RestApp, Map<string, { readonly state: string; readonly rows: Rows }>>();

/** Runs `act` and answers its result with the rows it left, each with its table. */
export async function storedBy<T>(
  app: RestApp,
  tables: readonly string[],
  act: () => Promise<T>,
): Promise<{ result: T; stored: [string, Stored][] }> {
  const before = await snapshot(app, tables);
  const result = await act();
  return { result, stored: changes(before, await snapshot(app, tables)) };
}

async function snapshot(app: RestApp, tables: readonly string[]): Promise<Snapshot> {
  const states = await stateOf(app);
  const read = lastRead.get(app) ?? new Map<string, { readonly state: string; readonly rows: Rows }>();
  lastRead.set(app, read);
  const all = new Map<string, Rows>();
  for (const table of tables) {
    const state = states.get(table) ?? '';
    const known = PARTLY_WATCHED.has(table) ? undefined : read.get(table);
    const rows = known?.state === state ? known.rows : await rowsOf(app, table);
    read.set(table, { state, rows });
    all.set(table, rows);
  }
  return all;
}

async function rowsOf(app: RestApp, table: string): Promise<Rows> {
  const columns = (await keyColumnsOf(app)).get(table);
  const rows = await queryRows<{ row: Stored }>(app.ctx.db, sql`SELECT to_jsonb(r) AS row FROM ${raw(table)} r`);
  return new Map(rows.map(({ row }) => [JSON.stringify(columns?.map((name) => row[name]) ?? row), row]));
}

const keyColumns = new WeakMap<RestApp, Promise<ReadonlyMap<string, readonly string[]>>>();

/** Of each table the columns of its primary key. A row of one without is known by all of it. */
function keyColumnsOf(app: RestApp): Promise<ReadonlyMap<string, readonly string[]>> {
  const known =
    keyColumns.get(app) ??
    queryRows<{ name: string; columns: string[] }>(
      app.ctx.db,
      sql`SELECT n.nspname || '.' || c.relname AS name, array_agg(a.attname::text) AS columns
            FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
           WHERE i.indisprimary AND n.nspname IN ('public', 'hot', 'graphile_worker') GROUP BY 1`,
    ).then((rows) => new Map(rows.map(({ name, columns }) => [name, columns])));
  keyColumns.set(app, known);
  return known;
}

/** Rows that are new or other than before, and marks for those that are gone. */
function changes(before: Snapshot, after: Snapshot): [string, Stored][] {
  return [...after].flatMap(([table, rows]): [string, Stored][] => {
    const old: Rows = before.get(table) ?? new Map<string, Stored>();
    if (old === rows) return [];
    const written = [...rows].filter(([key, row]) => JSON.stringify(old.get(key)) !== JSON.stringify(row));
    const gone = [...old.keys()].filter((key) => !rows.has(key));
    return [
      ...written.map(([, row]): [string, Stored] => [table, row]),
      ...gone.map((): [string, Stored] => [table, {}]),
    ];
  });
}

const FRESH =
  /(^|_)(id|uid|at|key|email|tag|digest|cursor|bytes|block|until|expires|settings|columns|tags|mac|token|hash|path|name|by|password|secret|occurrence|cause|before)$/;

/** Random domains of the worlds, selectors of keys, places of files, and ids in contents of messages. */
const FRESH_NAMES =
  /(?<="(?:event|subscriber)Id":")\d+|[0-9a-f]{13}(?=\.example)|(?<="(?:uid|\w+Uid)":")[0-9a-f]{13}|mw[0-9a-f]{10}|\b[0-9a-f]{32}(?=\/)/g;

/** The rows without what is fresh in every request: identities, times, random addresses, sealed bytes. */
export function comparable(stored: readonly (readonly [string, Stored])[], besides: readonly string[] = []): string[] {
  return stored
    .map(([table, row]) => [
      table,
      Object.fromEntries(Object.entries(row).filter(([name]) => !FRESH.test(name) && !besides.includes(name))),
    ])
    .map((entry) => JSON.stringify(entry).replace(FRESH_NAMES, '-'))
    .toSorted();
}
