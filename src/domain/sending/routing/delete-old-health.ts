/** What is kept of providers and their paces grows with every domain that mail goes to: old rows say nothing any more. */
import { sql, type Queryable } from '../../../db/database.ts';

/**
 * Forgets troubles of more than a day ago that hold nobody back (the next one begins anew by then, hot.record_health), and
 * buckets by the hour that have been full for long.
 */
export async function deleteOldHealth(db: Queryable): Promise<number> {
  const troubles = await db.execute(
    sql`DELETE FROM hot.sending_health WHERE state = 'closed' AND changed_at < now() - interval '1 day'
           AND (open_until IS NULL OR open_until < now())`,
  );
  const buckets = await db.execute(
    sql`DELETE FROM hot.rate_bucket WHERE (key LIKE 'domain:%' OR key LIKE 'customer:%') AND refilled_at < now() - interval '1 day'`,
  );
  return troubles + buckets;
}
