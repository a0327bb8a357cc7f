/** Makes the monthly partitions of the ledger and the events in advance. */
import type { Context } from '../../context.ts';
import { ensurePartitions } from '../../tracking/partition-store.ts';

/** A campaign that runs over New Year still writes to December; three months ahead survive a long downtime of the scheduler. */
const DAYS_BACK = 31;
const DAYS_AHEAD = 93;

/** Makes missing partitions around today; runs at start and every night. */
export async function makePartitions(ctx: Context): Promise<void> {
  const made = await ensurePartitions(ctx.db, { daysBack: DAYS_BACK, daysAhead: DAYS_AHEAD });
  if (made > 0) ctx.log.debug('partitions.made', { partitions: made });
}
