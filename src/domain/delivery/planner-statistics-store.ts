/**
 * Tells the planner how large the tables are that sending looks people up in. By itself the database looks about once a
 * minute; until then it takes a list that was just imported, or the first campaign of a month, for a handful of rows, and
 * reads all of them wherever one is looked up.
 */
import { raw, sql, type Queryable } from '../../db/database.ts';

/** What the look-ups go by; all other columns are left to the database's own round. */
const PEOPLE = 'public.subscriber (customer_id, list_id, id, status)';
const LEDGER_COLUMNS = '(snapshot_on, customer_id, source_kind, source_id, recipient_id)';

/** Looks at what has at least doubled since it was last looked at. A table that somebody else is looking at is left out. */
export async function refreshStatistics(db: Queryable, snapshotOn: string): Promise<void> {
  const grown = await db.query<{ name: string; isLedger: boolean }>(
    sql`SELECT c.oid::regclass::text AS name, c.oid <> 'public.subscriber'::regclass AS "isLedger" FROM pg_class c
         WHERE c.oid IN ('public.subscriber'::regclass, to_regclass('hot.delivery_' || to_char(${snapshotOn}::date, 'YYYY_MM')))
           AND pg_relation_size(c.oid) > c.relpages::bigint * 2 * current_setting('block_size')::bigint`,
    'delivery.grown-tables',
  );
  for (const { name, isLedger } of grown)
    await db.execute(sql`ANALYZE (SKIP_LOCKED) ${raw(isLedger ? `${name} ${LEDGER_COLUMNS}` : PEOPLE)}`);
}
