/**
 * Fair queueing: the order in which jobs of many customers run. A customer's k-th waiting job has the same priority as the k-th
 * of every other customer, however many follow (start-time fair queueing, docs/decisions/0113).
 */
import { sql, type Database, type Queryable } from '../db/database.ts';
import { availableJobs, lowerPriorities, lowestDuePriority } from './queue-internals.ts';

/** `planned`: new work. `again`: work that comes back; it has its own count, or it would wait behind all new work. */
export type PriorityKind = 'planned' | 'again';

/** A priority is a smallint; a customer's jobs beyond it run in the order of their time. */
const PRIORITY_MAX = 32_000;
/** The count restarts at this number; the numbers above are for the waiting jobs of one customer. */
const PRIORITIES_BEFORE_RENUMBERING = 8_000;
/** How long counting anew waits for transactions that took priorities: whoever enqueues meanwhile waits behind it. */
const LOCK_WAIT = '5s';

/** The priority that is served now: the lowest that is due; when nothing waits, the last one given. */
const servedNow = sql`coalesce(${lowestDuePriority}, (SELECT greatest(max(planned), max(again), 1) FROM hot.queue_priority))`;

/** The priorities of `amount` jobs of the customer, in their order. */
export async function takePriorities(
  db: Queryable,
  customerId: bigint,
  { amount, kind }: { amount: number; kind: PriorityKind },
): Promise<number[]> {
  const [row] = await db.query<{ first: number }>(
    sql`SELECT hot.take_priorities(${customerId}, ${amount}::int, ${kind === 'again'}, ${servedNow}) AS first`,
    'jobs.take-turns',
  );
  const first = row?.first ?? 1;
  return Array.from({ length: amount }, (_, index) => Math.min(PRIORITY_MAX, first + index));
}

/** Reduces the numbers when they are large, and returns by how much. Cheap when there is nothing to do. */
export async function renumberPriorities(database: Database): Promise<number> {
  if ((await readServed(database)) <= PRIORITIES_BEFORE_RENUMBERING) return 0;
  return database.transaction(async (tx) => {
    await tx.query(sql`SELECT set_config('lock_timeout', ${LOCK_WAIT}, true)`);
    // Waits for transactions that have taken priorities and not committed; else their jobs would come with the old numbers.
    await tx.execute(sql`LOCK TABLE hot.queue_priority IN EXCLUSIVE MODE`);
    const by = (await readServed(tx)) - 1;
    await lowerPriorities(tx, by);
    await tx.execute(
      sql`UPDATE hot.queue_priority SET planned = greatest(0, planned - ${by}::int), again = greatest(0, again - ${by}::int)`,
    );
    await tx.execute(sql`DELETE FROM hot.queue_priority WHERE planned = 0 AND again = 0`);
    return by;
  });
}

async function readServed(db: Queryable): Promise<number> {
  const [row] = await db.query<{ served: number }>(sql`SELECT ${servedNow} AS served`);
  return row?.served ?? 1;
}

/** Whether a job is due that has none of the flags. */
export async function doOthersWait(db: Queryable, flags: readonly string[]): Promise<boolean> {
  const rows = await db.query(
    sql`SELECT 1 FROM ${availableJobs} j
         WHERE j.run_at <= now() AND (j.flags ?| ${[...flags]}::text[]) IS NOT TRUE LIMIT 1`,
    'jobs.do-others-wait',
  );
  return rows.length > 0;
}
