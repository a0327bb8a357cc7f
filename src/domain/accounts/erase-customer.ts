/**
 * Erases a deleted customer from every table with a column `customer_id` (of plugins also `customer_uid`), in slices with a transaction each. A new table needs no
 * change here. Data outside of tables (files on disk) must be erased before.
 */
import type { Context } from '../context.ts';
import { eraseAuditEventsOf } from './audit-store.ts';
import { eraseCustomerRow, isDeleting } from './customer-store.ts';
import { eraseDeleted } from './erase-deleted.ts';
import { eraseRowsOfCustomer, tenantTables, type TenantTable } from './tenant-table-store.ts';

/** Some milliseconds each, so that locks are short, and an interrupted job loses little. */
const ROWS_AT_ONCE = 5_000;

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
      if (table.isBound === isBound && !(await eraseTable(ctx, table, customerId, isStopping))) return false;
    return true;
  };
  // After its lists and campaigns, their data is erased by their keys.
  if (!(await goOn(true)) || !(await eraseDeleted(ctx, { customerId, isStopping })) || !(await goOn(false)))
    return false;
  await eraseAuditEventsOf(db, customerId);
  await eraseCustomerRow(db, customerId);
  return true;
}

async function eraseTable(
  ctx: Context,
  table: TenantTable,
  customerId: bigint,
  isStopping: () => boolean,
): Promise<boolean> {
  for (let erased = ROWS_AT_ONCE; erased === ROWS_AT_ONCE;) {
    if (isStopping()) return false;
    erased = await eraseRowsOfCustomer(ctx.database, table, { customerId, max: ROWS_AT_ONCE });
  }
  return true;
}
