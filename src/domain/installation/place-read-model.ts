/**
 * Reads by which a restored backup is recognised: the identity of the database, how long no process gave a sign of life, and the
 * server's timeline; and whether there is anything to send.
 */
import { sql, type Queryable } from '../../db/database.ts';
import { queuedJobs } from '../../jobs/queue-internals-store.ts';

/**
 * A campaign, an active automation, a message in the queue, a job of a customer, a saved payment method, which a renewal would charge, or a subscription that a vendor keeps, which our
 * cancellation would end there.
 */
export async function hasSomethingToSend(db: Queryable): Promise<boolean> {
  const rows = await db.execute(
    sql`SELECT 1 WHERE EXISTS (SELECT 1 FROM campaign WHERE status IN ('scheduled', 'queued', 'sending'))
           OR EXISTS (SELECT 1 FROM automation WHERE status = 'active')
           OR EXISTS (SELECT 1 FROM hot.message_queue)
           OR EXISTS (SELECT 1 FROM ${queuedJobs} j WHERE j.payload ->> 'customerId' IS NOT NULL)
           OR EXISTS (SELECT 1 FROM payment_method WHERE removed_at IS NULL)
           OR EXISTS (SELECT 1 FROM remote_subscription WHERE NOT is_ended)
           OR EXISTS (SELECT 1 FROM payment_intent WHERE remote_plan_id IS NOT NULL AND status IN ('PENDING', 'REQUIRES_ACTION'))`,
  );
  return rows > 0;
}

/** Marks of the database, and how long no process has given a sign of life: by its clock, and by what this machine has seen. */
export async function signsOf(db: Queryable, seenAt: Date | null) {
  const [row] = await db.query(
    { marks: 'text', silentSeconds: 'float8', aheadSeconds: 'float8' },
    sql`SELECT hot.database_identity() AS marks, coalesce(extract(epoch FROM now() - max(seen_at)), 0)::float8 AS "silentSeconds",
               coalesce(extract(epoch FROM ${seenAt}::timestamptz - max(seen_at)), 0)::float8 AS "aheadSeconds" FROM hot.process`,
  );
  return row ?? { marks: '', silentSeconds: 0, aheadSeconds: 0 };
}

/** Null when our database user may not read it; then a recovery is recognised by the other signs only. */
export async function timelineOf(db: Queryable): Promise<number | null> {
  const [may] = await db.query(
    { may: 'bool' },
    sql`SELECT has_function_privilege('pg_catalog.pg_control_checkpoint()', 'EXECUTE') AS may`,
  );
  if (!may?.may) return null;
  const [row] = await db.query(
    { timeline: 'int' },
    sql`SELECT timeline_id AS timeline FROM pg_catalog.pg_control_checkpoint()`,
  );
  return row?.timeline ?? null;
}
