/** Starts delayed jobs early, when what they wait for has come. */
import { sql, type Queryable } from '../db/database.ts';
import { customerFlag, type JobDefinition } from './define-job.ts';

export interface WhichJobs {
  /** Undefined: those of all customers. */
  readonly customerId: bigint | undefined;
  /** Later jobs wait for something else. */
  readonly dueWithinSeconds: number;
}

/** Makes jobs of a kind due that would be due within so many seconds; returns how many. */
export async function wakeJobs(
  db: Queryable,
  { name }: JobDefinition,
  { customerId, dueWithinSeconds }: WhichJobs,
): Promise<number> {
  const flag = customerId === undefined ? null : customerFlag(String(customerId));
  const rows = await db.query(
    sql`SELECT 1 FROM graphile_worker.reschedule_jobs(ARRAY(
          SELECT j.id FROM graphile_worker.jobs j
           WHERE j.task_identifier = ${name}
             AND j.locked_at IS NULL AND j.run_at > now() AND j.run_at <= now() + make_interval(secs => ${dueWithinSeconds})
             AND (${flag}::text IS NULL OR j.flags ? ${flag}::text)), run_at => now())`,
  );
  return rows.length;
}
