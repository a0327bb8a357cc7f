/** Counters of plugins whose code failed or was late when a hook was called, for monitoring. */
import { row, sql, type Queryable, type RowOf } from '../../db/database.ts';

const HOOK_FAULTS_ROW = row({ plugin: 'text', hook: 'text', failed: 'float8', late: 'float8' });
export type HookFaults = RowOf<typeof HOOK_FAULTS_ROW>;

/** Adds to the counters; in one order, so that two processes never deadlock. */
export async function addHookFaults(db: Queryable, counted: readonly HookFaults[]): Promise<void> {
  const [plugins, hooks] = [counted.map(({ plugin }) => plugin), counted.map(({ hook }) => hook)];
  const [failed, late] = [counted.map((one) => one.failed), counted.map((one) => one.late)];
  await db.execute(
    sql`INSERT INTO hot.hook_fault_total AS t (plugin, hook, failed, late)
        SELECT * FROM unnest(${plugins}::text[], ${hooks}::text[], ${failed}::bigint[], ${late}::bigint[]) ORDER BY 1, 2
        ON CONFLICT (plugin, hook) DO UPDATE SET failed = t.failed + excluded.failed, late = t.late + excluded.late`,
  );
}

export function hookFaultTotals(db: Queryable): Promise<HookFaults[]> {
  return db.query(
    HOOK_FAULTS_ROW,
    sql`SELECT plugin, hook, failed::float8 AS failed, late::float8 AS late FROM hot.hook_fault_total
         ORDER BY plugin, hook LIMIT 10000`,
  );
}
