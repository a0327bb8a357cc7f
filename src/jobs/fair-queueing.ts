/**
 * Fair queueing: the order in which jobs of many customers run. A customer's k-th waiting job has the same priority as the
 * k-th of everybody else, however many follow it (start-time fair queueing, docs/decisions/0113).
 */
import { sql, type Queryable } from '../db/database.ts';
import { availableJobs } from './queue-internals.ts';

/** `planned`: new work. `again`: work that comes back, with a line of its own, or it would wait behind all that is new. */
export type PriorityKind = 'planned' | 'again';

/** A priority is a smallint; a customer's further waiting jobs run in the order of their time. */
const PRIORITY_MAX = 32_000;
/** The count begins again at this number; the space above is for the waiting jobs of one customer. */
const PRIORITIES_BEFORE_RENUMBERING = 8_000;

/** The priorities of `amount` jobs of the customer, in their order. */
export async function takePriorities(
  db: Queryable,
  customerId: bigint,
  { amount, kind }: { amount: number; kind: PriorityKind },
): Promise<number[]> {
  const [row] = await db.query<{ first: number }>(
    sql`SELECT hot.take_priorities(${customerId}, ${amount}::int, ${kind === 'again'}) AS first`,
    'jobs.take-turns',
  );
  const first = row?.first ?? 1;
  return Array.from({ length: amount }, (_, index) => Math.min(PRIORITY_MAX, first + index));
}

/** Keeps the numbers small; answers by how much they became smaller. Cheap when there is nothing to do. */
export async function renumberPriorities(db: Queryable): Promise<number> {
  const [row] = await db.query<{ by: number }>(
    sql`SELECT hot.renumber_priorities(${PRIORITIES_BEFORE_RENUMBERING}::int) AS by`,
  );
  return row?.by ?? 0;
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
