/** Counts how many rows a piece of work reads, by what the database says. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql, type Database, type Queryable, type Transaction } from '../../src/db/database.ts';

/** Runs `work` in a transaction; `read` answers the rows it has read of the tables whose names begin so. */
export type ReadCounter<Table extends string> = (
  work: (tx: Transaction, read: (table: Table) => Promise<number>) => Promise<void>,
) => Promise<void>;

export function readCounter<Table extends string>(database: Database, tables: readonly Table[]): ReadCounter<Table> {
  return (work) =>
    database.transaction(async (tx) => {
      // What the connection read before is told once a second at most: it may still be among what it counts.
      const before = new Map<string, number>();
      for (const table of tables) before.set(table, await rowsRead(tx, table));
      await work(tx, async (table) => (await rowsRead(tx, table)) - (before.get(table) ?? 0));
    });
}

/** The database, and how many rows of the tables of this name the transactions on it have read so far. */
export function countingReads(database: Database, table: string): { database: Database; rowsRead: () => number } {
  let sum = 0;
  const transaction: Database['transaction'] = (work) =>
    database.transaction(async (tx) => {
      const before = await rowsRead(tx, table);
      const result = await work(tx);
      sum += (await rowsRead(tx, table)) - before;
      return result;
    });
  return { database: { ...database, transaction }, rowsRead: () => sum };
}

/** Rows of the tables of this name, partitions included, that the connection has read and not told of yet. */
async function rowsRead(tx: Queryable, table: string): Promise<number> {
  const [row] = await queryRows<{ n: number }>(
    tx,
    sql`SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::float8 AS n FROM pg_stat_xact_user_tables WHERE relname LIKE ${`${table}%`}`,
  );
  return row?.n ?? 0;
}
