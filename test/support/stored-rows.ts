/** What a request stored: every row that is new or changed, and how to compare it with what another request stored. */
import { raw, sql } from '../../src/db/database.ts';
import type { RestApp } from './rest-app.ts';

export type Stored = Record<string, unknown>;
type Snapshot = ReadonlyMap<string, Stored>;

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
  const all = new Map<string, Stored>();
  for (const table of tables) {
    for (const { row } of await app.ctx.db.query<{ row: Stored }>(
      sql`SELECT to_jsonb(r) AS row FROM ${raw(table)} r`,
    )) {
      all.set(`${table} ${keyOf(row)}`, row);
    }
  }
  return all;
}

/** What identifies a row well enough to see whether it is new or changed. */
function keyOf(row: Stored): string {
  const names = ['customer_id', 'list_id', 'campaign_id', 'import_id', 'invoice_id', 'subscriber_id', 'id', 'no'];
  return [...names, 'name_key', 'key', 'block'].map((name) => row[name]).join('/');
}

/** Rows that are new or other than before, and marks for those that are gone. */
function changes(before: Snapshot, after: Snapshot): [string, Stored][] {
  const written = [...after].flatMap(([key, row]): [string, Stored][] => {
    const same = JSON.stringify(before.get(key)) === JSON.stringify(row);
    return same ? [] : [[tableOf(key), row]];
  });
  const gone = [...before.keys()].filter((key) => !after.has(key)).map((key): [string, Stored] => [tableOf(key), {}]);
  return [...written, ...gone];
}

function tableOf(key: string): string {
  return key.split(' ', 1)[0] ?? '';
}

const FRESH =
  /(^|_)(id|uid|at|key|email|tag|digest|cursor|bytes|block|until|expires|settings|columns|tags|mac|token|hash|path|name|by|password)$/;

/** Random domains of the worlds, and selectors of keys. */
const FRESH_NAMES = /[0-9a-f]{13}(?=\.example)|(?<="uid":")[0-9a-f]{13}|mw[0-9a-f]{10}/g;

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
