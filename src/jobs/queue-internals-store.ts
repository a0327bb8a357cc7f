/**
 * The private tables of graphile-worker, as far as we need them: its public view has no payload, and no function of it unlocks one
 * job. Nothing else names these tables (test/architecture/queue-internals.test.ts); where the public view `graphile_worker.jobs` or
 * a public function will do, use that. No SQL function reads them.
 */
import { sql, type Queryable, type Sql } from '../db/database.ts';

/** The version of the library that has these tables; test/jobs/queue-internals.test.ts says what to check for another. */
export const QUEUE_VERSION = '0.18.0';

/** All jobs with their payloads, for a FROM: waiting, running and given up. */
export const queuedJobs: Sql = sql`(
  SELECT j.id, t.identifier AS name, j.payload, j.key, j.flags, j.attempts, j.max_attempts, j.last_error, j.run_at, j.created_at, j.updated_at,
         j.locked_at IS NOT NULL AS is_running, j.attempts >= j.max_attempts AS is_given_up
    FROM graphile_worker._private_jobs j JOIN graphile_worker._private_tasks t ON t.id = j.task_id)`;

/** Jobs that are not locked and have tries left, for a FROM: by the library's own index, which the public view does not use. */
export const availableJobs: Sql = sql`(SELECT j.run_at, j.flags FROM graphile_worker._private_jobs j WHERE j.is_available)`;

/** The lowest priority that is due, for a SELECT; null when none waits. 0 is that of jobs without a place in the order. */
export const lowestDuePriority: Sql = sql`(
  SELECT j.priority::int FROM graphile_worker._private_jobs j
   WHERE j.is_available AND j.priority > 0 AND j.run_at <= now() ORDER BY j.priority, j.run_at LIMIT 1)`;

/** Lowers the priorities of all jobs that have one, to 1 at least. */
export async function lowerPriorities(db: Queryable, by: number): Promise<void> {
  await db.execute(
    sql`UPDATE graphile_worker._private_jobs SET priority = greatest(1, priority - ${by}::int) WHERE priority > 0`,
  );
}

/** Unlocks these jobs if one of the worker pools still holds them. The try for which they were locked still counts. */
export async function unlockJobs(
  db: Queryable,
  { ids, pools }: { readonly ids: readonly string[]; readonly pools: readonly string[] },
): Promise<number> {
  return db.execute(
    sql`UPDATE graphile_worker._private_jobs SET locked_at = NULL, locked_by = NULL, run_at = greatest(run_at, now())
         WHERE id = ANY(${[...ids]}::bigint[]) AND locked_by = ANY(${[...pools]}::text[])`,
  );
}

/** Unlocks a job that this worker runs, as if it had not been tried; it may run again after a second. */
export async function putBackJob(db: Queryable, id: string): Promise<void> {
  await db.execute(
    sql`UPDATE graphile_worker._private_jobs
           SET attempts = greatest(0, attempts - 1), locked_at = NULL, locked_by = NULL, run_at = now() + interval '1 second'
         WHERE id = ${id}::bigint`,
  );
}
