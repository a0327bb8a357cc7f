/**
 * The clock of the database. Times that one machine writes and another one compares use it, because clocks of machines may
 * differ.
 */
import sql from 'sql-template-tag';
import type { Queryable } from './database.ts';

/** The database's time; in a transaction, the time at which it began. */
export async function databaseNow(db: Queryable): Promise<Date> {
  const [row] = await db.query({ now: 'timestamptz' }, sql`SELECT now() AS now`, 'now');
  if (!row) throw new Error('The database did not say what time it is.');
  return row.now;
}
