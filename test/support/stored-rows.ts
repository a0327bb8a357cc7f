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
  const rows = await queryRows<{ row: Stored }>(app.ctx.db, sql`SELECT to_jsonb(r) AS row FROM ${raw(table)} r`);
  return new Map(rows.map(({ row }) => [keyOf(row), row]));
}

/** What identifies a row well enough to see whether it is new or changed. */
function keyOf(row: Stored): string {
  const names = [
    'customer_id',
    'list_id',
    'campaign_id',
    'source_id',
    'import_id',
    'invoice_id',
    'subscriber_id',
    'recipient_id',
    'id',
    'no',
  ];
  return [...names, 'automation_id', 'number', 'source_kind', 'occurrence', 'name_key', 'key', 'block']
    .map((name) => row[name])
    .concat(row['id'] === undefined ? row['email_key'] : undefined)
    .join('/');
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
