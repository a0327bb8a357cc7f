/** The clock by which flows run. */
import { sql, type Queryable } from '../../../db/database.ts';

/** The database's clock: all processes go by it, whatever their own clocks show. */
export async function databaseNow(db: Queryable): Promise<Date> {
  const [row] = await db.query({ now: 'timestamptz' }, sql`SELECT clock_timestamp() AS now`, 'automations.now');
  return row?.now ?? new Date();
}
