/** Events are in monthly partitions that are made in advance. If one is missing, nothing is lost. */
import type { Context } from '../context.ts';
import { ensurePartitions } from './partition-store.ts';

/** PostgreSQL's code for a row without a partition, among other checks. */
const CHECK_VIOLATION = '23514';

/** Whether a statement may have failed because this month has no partitions. */
export function mayLackPartition(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === CHECK_VIOLATION;
}

/**
 * Answers as `work` does; if the month's partitions are missing, they are made and it is tried again. Within a transaction there
 * is no second try: its owner must repeat it.
 */
export async function withPartitions<T>(ctx: Context, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (ctx.tx || !mayLackPartition(error)) throw error;
    await makeThisMonth(ctx);
    return work();
  }
}

/** Makes the partitions of this month; those that exist stay. */
export async function makeThisMonth(ctx: Context): Promise<void> {
  await ensurePartitions(ctx.database, { daysBack: 0, daysAhead: 0 });
}
