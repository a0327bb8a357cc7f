/** Makes, finds and drops the monthly partitions of the ledger and of the events. */
import { sql, row, type Database, type Queryable, type RowOf } from '../../db/database.ts';

/** Makes missing partitions around today; returns how many were made. */
export async function ensurePartitions(
  db: Queryable,
  { daysBack, daysAhead }: { daysBack: number; daysAhead: number },
): Promise<number> {
  const [row] = await db.query(
    { made: 'int' },
    sql`SELECT hot.ensure_partitions(current_date - ${daysBack}::int, current_date + ${daysAhead}::int) AS made`,
  );
  return row?.made ?? 0;
}

/** If a month is locked for longer, it is tried again tomorrow. */
const LOCK_WAIT = '5s';

const MONTH_ROW = row({
  parent: 'name',
  partition: 'name',
  /** First day of it, YYYY-MM-DD. */
  month: 'text',
  /** A detaching that was interrupted: it has to be finished first. */
  isHalfDetached: 'bool',
});
export type Month = RowOf<typeof MONTH_ROW>;

/** Months of these tables that are older than the last `keep` whole ones. */
export function monthsBefore(database: Database, parents: readonly string[], keep: number): Promise<Month[]> {
  return database.query(
    MONTH_ROW,
    sql`SELECT p.relname AS parent, c.relname AS partition, replace(right(c.relname, 7), '_', '-') || '-01' AS month,
               i.inhdetachpending AS "isHalfDetached"
          FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhparent JOIN pg_class c ON c.oid = i.inhrelid
         WHERE p.relnamespace = 'hot'::regnamespace AND p.relname = ANY(${[...parents]}::text[]) AND c.relname ~ '_[0-9]{4}_[0-9]{2}$'
           AND replace(right(c.relname, 7), '_', '-') < to_char((now() AT TIME ZONE 'UTC') - make_interval(months => ${keep}::int), 'YYYY-MM')
         ORDER BY c.relname`,
  );
}

/** A campaign that is paused or under way needs its rows, and so does a message that waits, however old they are. */
export async function isNeeded(database: Database, { month }: Month): Promise<boolean> {
  const rows = await database.execute(
    sql`SELECT 1 FROM campaign WHERE snapshot_on >= ${month}::date AND snapshot_on < ${month}::date + interval '1 month'
           AND status <> 'done'
        UNION ALL
        SELECT 1 FROM hot.message_queue q JOIN hot.message m ON m.customer_id = q.customer_id AND m.id = q.message_id
         WHERE m.snapshot_on >= ${month}::date AND m.snapshot_on < ${month}::date + interval '1 month' LIMIT 1`,
  );
  return rows > 0;
}

/** What waits to be sent is needed, and the attempts of deliveries that are still there. */
export async function isWebhookMonthNeeded(database: Database, { parent, month }: Month): Promise<boolean> {
  const rows = await database.execute(
    sql`SELECT 1 FROM hot.webhook_queue WHERE made_on >= ${month}::date AND made_on < ${month}::date + interval '1 month'
        UNION ALL
        SELECT 1 FROM pg_inherits
         WHERE ${parent}::text = 'webhook_attempt' AND inhparent = 'hot.webhook_delivery'::regclass
           AND inhrelid = to_regclass('hot.webhook_delivery_' || to_char(${month}::date, 'YYYY_MM')) LIMIT 1`,
  );
  return rows > 0;
}

/** The segments' data about the month's ledger is deleted, too. */
export async function removeReceived(database: Database, { month }: Month): Promise<void> {
  const campaigns = sql`SELECT customer_id, id FROM campaign
    WHERE snapshot_on >= ${month}::date AND snapshot_on < ${month}::date + interval '1 month'`;
  await database.transaction(async (tx) => {
    await tx.execute(
      sql`UPDATE hot.received_campaign SET people = 0 WHERE (customer_id, campaign_id) IN (${campaigns})`,
    );
    await tx.execute(sql`DELETE FROM hot.received_block WHERE (customer_id, campaign_id) IN (${campaigns})`);
  });
}

/** Detaches the month from its table while work continues, then drops it. */
export async function dropMonth(database: Database, { parent, partition, isHalfDetached }: Month): Promise<void> {
  // One without limits of time: a large month takes long.
  const client = await database.connect('mailwright-months');
  try {
    // Names are our own (hot.ensure_partitions). Concurrent detaching cannot be in a transaction.
    await client.query(`SET lock_timeout = '${LOCK_WAIT}'`);
    await client.query(
      `ALTER TABLE hot.${parent} DETACH PARTITION hot.${partition} ${isHalfDetached ? 'FINALIZE' : 'CONCURRENTLY'}`,
    );
    await client.query(`DROP TABLE hot.${partition}`);
  } finally {
    await client.end();
  }
}
