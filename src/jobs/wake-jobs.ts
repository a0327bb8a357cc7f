/** Jobs that wait for something which has come earlier than they were told. */
import { sql, type Queryable } from '../db/database.ts';
import { customerFlag, type JobDefinition } from './define-job.ts';

export interface WhichJobs {
  /** Undefined: those of all customers. */
  readonly customerId: bigint | undefined;
  /** Others wait for something else. */
  readonly dueWithinSeconds: number;
}

/** Makes the jobs of a kind due that would be within so many seconds; answers how many. */
export async function wakeJobs(
  db: Queryable,
  { name }: JobDefinition,
  { customerId, dueWithinSeconds }: WhichJobs,
): Promise<number> {
  const flag = customerId === undefined ? null : customerFlag(String(customerId));
  return db.execute(
    sql`UPDATE graphile_worker._private_jobs j SET run_at = now(), updated_at = now()
         WHERE j.task_id = (SELECT t.id FROM graphile_worker._private_tasks t WHERE t.identifier = ${name})
           AND j.locked_at IS NULL AND j.run_at > now() AND j.run_at <= now() + make_interval(secs => ${dueWithinSeconds})
           AND (${flag}::text IS NULL OR j.flags ? ${flag}::text)`,
  );
}
