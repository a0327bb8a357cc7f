/**
 * The clock of the database. What one machine writes down and another one judges goes by it: their own clocks may differ.
 */
import sql from 'sql-template-tag';
import type { Queryable } from './database.ts';

/** What it shows; in a transaction the moment at which that began. */
export async function databaseNow(db: Queryable): Promise<Date> {
  const [row] = await db.query<{ now: Date }>(sql`SELECT now() AS now`, 'now');
  if (!row) throw new Error('The database did not say what time it is.');
  return row.now;
}
