/** Rows of providers and their paces grow with every domain that gets mail: old rows are deleted. */
import { sql, type Queryable } from '../../../db/database.ts';

/**
 * Deletes troubles older than a day that hold no mail back (the next one starts again anyway, hot.record_health), and hourly
 * buckets that have been full for long.
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
