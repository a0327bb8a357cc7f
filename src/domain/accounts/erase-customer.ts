/**
 * Erases a deleted customer from every table with a column `customer_id`, in slices with a transaction each. A new table needs no
 * change here. Data outside of tables (files on disk) must be erased before.
 */
import { raw, sql, row, type Queryable, type RowOf } from '../../db/database.ts';
import type { Context } from '../context.ts';
import { eraseDeleted } from './erase-deleted.ts';

/** Some milliseconds each, so that locks are short, and an interrupted job loses little. */
const ROWS_AT_ONCE = 5_000;
/** Referenced rows are deleted after those that refer to them; foreign keys are at most four levels deep. */
const LEVELS_MAX = 10;

/**
 * Erases until nothing is left, or until `isStopping`: then it returns false and has to be called again. A customer that is not
 * being deleted is not changed.
 */
export async function eraseCustomer(
  ctx: Context,
  { customerId, isStopping }: { customerId: bigint; isStopping: () => boolean },
): Promise<boolean> {
  const { db } = ctx;
  if (!(await isDeleting(db, customerId))) return true;
  const tables = await tenantTables(db);
  const goOn = async (isBound: boolean) => {
    for (const table of tables)
      if (table.isBound === isBound && !(await eraseTable(ctx, table.name, customerId, isStopping))) return false;
    return true;
  };
  // After its lists and campaigns, their data is erased by their keys.
  if (!(await goOn(true)) || !(await eraseDeleted(ctx, { customerId, isStopping })) || !(await goOn(false)))
    return false;
  await eraseOwnTrail(db, customerId);
  await deleteCustomer(db, customerId);
  return true;
}

/** Only its id is kept: without it the links in its mails would work again (disabled-customers.ts). */
async function deleteCustomer(db: Queryable, customerId: bigint): Promise<void> {
  await db.execute(sql`
    WITH gone AS (DELETE FROM customer WHERE id = ${customerId} AND status = 'deleting' RETURNING id)
    INSERT INTO erased_customer (id) SELECT id FROM gone ON CONFLICT DO NOTHING`);
}

async function eraseTable(
  ctx: Context,
  table: string,
  customerId: bigint,
  isStopping: () => boolean,
): Promise<boolean> {
  for (let erased = ROWS_AT_ONCE; erased === ROWS_AT_ONCE;) {
    if (isStopping()) return false;
    erased = await eraseSlice(ctx, table, customerId);
  }
  return true;
}

/** Whether this customer was deleted and is still being erased. */
export async function isDeleting(db: Queryable, customerId: bigint): Promise<boolean> {
  return (await db.execute(sql`SELECT 1 FROM customer WHERE id = ${customerId} AND status = 'deleting'`)) > 0;
}

const TENANT_TABLE_ROW = row({
  name: 'text',
  /** A foreign key refers to it or from it. */
  isBound: 'bool',
});
type TenantTable = RowOf<typeof TENANT_TABLE_ROW>;

/** Plain tables and single partitions, referring ones first. The audit trail has its own rule. */
async function tenantTables(db: Queryable): Promise<readonly TenantTable[]> {
  return db.query(
    TENANT_TABLE_ROW,
    sql`
    WITH RECURSIVE tenant AS (
      SELECT c.oid, format('%I.%I', n.nspname, c.relname) AS name,
             EXISTS (SELECT 1 FROM pg_constraint k WHERE k.contype = 'f' AND c.oid IN (k.conrelid, k.confrelid)) AS is_bound
        FROM pg_class c
        JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'customer_id' AND NOT a.attisdropped
       WHERE c.relkind = 'r' AND n.nspname IN ('public', 'hot') AND c.oid <> 'hot.audit_event'::regclass
    ), level(oid, depth) AS (
      SELECT oid, 0 FROM tenant
      UNION
      SELECT k.conrelid, l.depth + 1 FROM level l
        JOIN pg_constraint k ON k.confrelid = l.oid AND k.contype = 'f' AND k.conrelid <> k.confrelid
       WHERE l.depth < ${LEVELS_MAX}::int
    )
    SELECT t.name, t.is_bound AS "isBound" FROM tenant t JOIN level l USING (oid)
     GROUP BY t.oid, t.name, t.is_bound ORDER BY max(l.depth) DESC, t.name`,
  );
}

function eraseSlice({ database }: Context, table: string, customerId: bigint): Promise<number> {
  return database.transaction(async (tx) => {
    // Statistics are out of date: an index must be used even for a customer that had most of a table.
    await tx.execute(sql`SELECT set_config('enable_seqscan', 'off', true)`);
    // The name comes from the catalogue, quoted.
    return tx.execute(sql`
      DELETE FROM ${raw(table)} WHERE customer_id = ${customerId} AND ctid = ANY(ARRAY(
        SELECT ctid FROM ${raw(table)} WHERE customer_id = ${customerId} LIMIT ${ROWS_AT_ONCE}))`);
  });
}

/** What administrators did to it is kept; what it did itself is not. */
async function eraseOwnTrail(db: Queryable, customerId: bigint): Promise<void> {
  await db.execute(sql`
    DELETE FROM hot.audit_event
     WHERE customer_id = ${customerId} AND coalesce(actor_customer_id, ${customerId}) = ${customerId}`);
}
