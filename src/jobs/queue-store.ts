/** The queue by its public functions and its public view; its private tables: queue-internals-store.ts. */
import { sql, type Queryable } from '../db/database.ts';

/** Adds jobs as the queue describes them, to run after so many seconds unless they say when. */
export async function addJobs(
  db: Queryable,
  specs: readonly object[],
  delaySeconds: number | undefined,
): Promise<void> {
  await db.execute(
    sql`SELECT count(*) FROM graphile_worker.add_jobs(ARRAY(SELECT json_populate_recordset(
          json_populate_record(NULL::graphile_worker.job_spec, json_build_object('run_at', now() + make_interval(secs => ${delaySeconds ?? null}::float8))),
          ${JSON.stringify(specs)}::json)))`,
    'jobs.enqueue',
  );
}

export interface DueJobs {
  readonly name: string;
  /** Null: with any flags. */
  readonly flag: string | null;
  readonly dueWithinSeconds: number;
}

/** Makes waiting jobs due now that would be within so many seconds; answers how many. */
export async function rescheduleJobs(db: Queryable, { name, flag, dueWithinSeconds }: DueJobs): Promise<number> {
  const rows = await db.execute(
    sql`SELECT 1 FROM graphile_worker.reschedule_jobs(ARRAY(
          SELECT j.id FROM graphile_worker.jobs j
           WHERE j.task_identifier = ${name}
             AND j.locked_at IS NULL AND j.run_at > now() AND j.run_at <= now() + make_interval(secs => ${dueWithinSeconds})
             AND (${flag}::text IS NULL OR j.flags ? ${flag}::text)), run_at => now())`,
  );
  return rows;
}

/** Ids of the jobs that these worker pools hold. */
export async function jobsOfPools(db: Queryable, pools: readonly string[]): Promise<string[]> {
  const rows = await db.query(
    { id: 'text' },
    sql`SELECT id::text AS id FROM graphile_worker.jobs WHERE locked_by = ANY(${[...pools]}::text[])`,
  );
  return rows.map(({ id }) => id);
}

/** Worker pools that hold jobs and are dead: whose lock can be taken. */
export async function deadPools(db: Queryable): Promise<string[]> {
  const rows = await db.query(
    { pool: 'text' },
    sql`SELECT pool FROM (SELECT DISTINCT locked_by AS pool FROM graphile_worker.jobs WHERE locked_by IS NOT NULL) held
         WHERE pg_try_advisory_xact_lock(hashtextextended(pool, 0))`,
  );
  return rows.map(({ pool }) => pool);
}

/** Makes available what the pools hold. */
export async function unlockPools(db: Queryable, pools: readonly string[]): Promise<void> {
  await db.execute(sql`SELECT graphile_worker.force_unlock_workers(${[...pools]}::text[])`);
}
