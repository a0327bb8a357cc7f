/**
 * Jobs: a name, the schema of the payload, and the one way to enqueue them. The queue is graphile-worker's; a job
 * enqueued in a transaction exists exactly when the transaction commits.
 */
import type { z } from 'zod';
import { sql, type Queryable } from '../db/database.ts';

export interface JobDefinition<Schema extends z.ZodType = z.ZodType> {
  readonly name: string;
  /** Checked when the job is taken up: a payload comes from the outside world of yesterday's program. */
  readonly payload: Schema;
  /** How often the queue tries again when the task throws (with its own growing delay). */
  readonly attemptsMax: number;
}

export interface EnqueueOptions {
  readonly runAt?: Date;
  /** Instead of `runAt`: from now, by the clock of the database, which is the one that wakes the job. */
  readonly delaySeconds?: number;
  /** A job with the same key that waits is replaced, not doubled. */
  readonly key?: string;
  /** Lower runs first; default 0. */
  readonly priority?: number;
}

export function defineJob<Schema extends z.ZodType>(definition: JobDefinition<Schema>): JobDefinition<Schema> {
  return definition;
}

/** Enqueues one job through `db`: inside a transaction it waits for the commit. */
export async function enqueue<Schema extends z.ZodType>(
  db: Queryable,
  definition: JobDefinition<Schema>,
  payload: z.input<Schema>,
  options: EnqueueOptions = {},
): Promise<void> {
  await enqueueMany(db, definition, [payload], options);
}

/** Enqueues many jobs of one kind in one statement. A key makes sense for a single job only. */
export async function enqueueMany<Schema extends z.ZodType>(
  db: Queryable,
  definition: JobDefinition<Schema>,
  payloads: readonly z.input<Schema>[],
  options: EnqueueOptions = {},
): Promise<void> {
  if (payloads.length === 0) return;
  const specs = payloads.map((payload) => ({
    identifier: definition.name,
    payload,
    max_attempts: definition.attemptsMax,
    ...(options.runAt ? { run_at: options.runAt } : {}),
    job_key: options.key ?? null,
    priority: options.priority ?? 0,
  }));
  await db.query(
    sql`SELECT count(*) FROM graphile_worker.add_jobs(ARRAY(SELECT json_populate_recordset(
          json_populate_record(NULL::graphile_worker.job_spec, json_build_object('run_at', now() + make_interval(secs => ${options.delaySeconds ?? null}::float8))),
          ${JSON.stringify(specs)}::json)))`,
    'jobs.enqueue',
  );
}
