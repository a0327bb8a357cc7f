/** Priorities of customers' jobs: the numbers that were given (hot.queue_priority), and the one that is served now. */
import { sql, type Queryable, type Transaction } from '../db/database.ts';
import { availableJobs, lowestDuePriority } from './queue-internals-store.ts';

/** How long counting anew waits for transactions that took priorities: whoever enqueues meanwhile waits behind it. */
const LOCK_WAIT = '5s';

/** The priority that is served now: the lowest that is due; when nothing waits, the last one given. */
const servedNow = sql`coalesce(${lowestDuePriority}, (SELECT greatest(max(planned), max(again), 1) FROM hot.queue_priority))`;

/** Takes the numbers for so many jobs of the customer; answers the first of them. */
export async function takePriorityRange(
  db: Queryable,
  customerId: bigint,
  { amount, isAgain }: { readonly amount: number; readonly isAgain: boolean },
): Promise<number> {
  const [row] = await db.query(
    { first: 'int' },
    sql`SELECT hot.take_priorities(${customerId}, ${amount}::int, ${isAgain}, ${servedNow}) AS first`,
    'jobs.take-turns',
  );
  return row?.first ?? 1;
}

export async function priorityServed(db: Queryable): Promise<number> {
  const [row] = await db.query({ served: 'int' }, sql`SELECT ${servedNow} AS served`);
  return row?.served ?? 1;
}

/** Waits for transactions that have taken priorities and not committed; else their jobs would come with the old numbers. */
export async function lockPriorities(tx: Transaction): Promise<void> {
  await tx.execute(sql`SELECT set_config('lock_timeout', ${LOCK_WAIT}, true)`);
  await tx.execute(sql`LOCK TABLE hot.queue_priority IN EXCLUSIVE MODE`);
}

/** Lowers the numbers that were given, and forgets those of whom no number is left. */
export async function lowerGivenPriorities(tx: Transaction, by: number): Promise<void> {
  await tx.execute(
    sql`UPDATE hot.queue_priority SET planned = greatest(0, planned - ${by}::int), again = greatest(0, again - ${by}::int)`,
  );
  await tx.execute(sql`DELETE FROM hot.queue_priority WHERE planned = 0 AND again = 0`);
}

/** Whether a job is due that has none of the flags. */
export async function doOthersWait(db: Queryable, flags: readonly string[]): Promise<boolean> {
  const rows = await db.execute(
    sql`SELECT 1 FROM ${availableJobs} j
         WHERE j.run_at <= now() AND (j.flags ?| ${[...flags]}::text[]) IS NOT TRUE LIMIT 1`,
    'jobs.do-others-wait',
  );
  return rows > 0;
}
