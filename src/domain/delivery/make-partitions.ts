/** Makes the monthly partitions of the ledger and the events before they are needed. */
import { sql } from '../../db/database.ts';
import type { Context } from '../context.ts';

/** A campaign that runs over New Year still writes to December; three months ahead survive a long silence of the clock. */
const DAYS_BACK = 31;
const DAYS_AHEAD = 93;

/** Makes what is missing around today; runs at start and every night. */
export async function makePartitions(ctx: Context): Promise<void> {
  const [row] = await ctx.db.query<{ made: number }>(
    sql`SELECT hot.ensure_partitions(current_date - ${DAYS_BACK}::int, current_date + ${DAYS_AHEAD}::int) AS made`,
  );
  if (row && row.made > 0) ctx.log.debug('partitions.made', { partitions: row.made });
}
