/**
 * Updates the planner's statistics of the tables in which sending looks people up. The database itself does so about once a
 * minute; until then it expects a handful of rows in a new list, or in the first campaign of a month, and reads all of them for
 * each look-up.
 */
import { raw, sql, type Queryable } from '../../../db/database.ts';

/** The columns of these look-ups; other columns are left to the regular ANALYZE. */
const PEOPLE = 'public.subscriber (customer_id, list_id, id, status)';
const LEDGER_COLUMNS = '(snapshot_on, customer_id, source_kind, source_id, recipient_id, occurrence)';

/** Analyses tables that have at least doubled since the last time. A table that another session analyses is skipped. */
export async function refreshStatistics(db: Queryable, snapshotOn: string): Promise<void> {
  const grown = await db.query(
    { name: 'text', isLedger: 'bool' },
    sql`SELECT c.oid::regclass::text AS name, c.oid <> 'public.subscriber'::regclass AS "isLedger" FROM pg_class c
         WHERE c.oid IN ('public.subscriber'::regclass, to_regclass('hot.delivery_' || to_char(${snapshotOn}::date, 'YYYY_MM')))
           AND pg_relation_size(c.oid) > c.relpages::bigint * 2 * current_setting('block_size')::bigint`,
    'delivery.grown-tables',
  );
  for (const { name, isLedger } of grown)
    await db.execute(sql`ANALYZE (SKIP_LOCKED) ${raw(isLedger ? `${name} ${LEDGER_COLUMNS}` : PEOPLE)}`);
}
