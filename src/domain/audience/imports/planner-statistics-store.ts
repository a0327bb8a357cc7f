/**
 * Updates the planner's statistics for a list that it expects to be (nearly) empty. The planner knows customers and lists from
 * the last ANALYZE, which runs when a tenth of all rows is new: on a large installation a new customer's people are missing in
 * the statistics for a long time, and look-ups by id would search all of them.
 */
import { sql, typed, type Queryable } from '../../../db/database.ts';

/** Below that, a plan that reads the whole list does no harm. */
const MEMBERS_MIN = 1_000;
/** Estimates may be wrong by much, as they are averages for all but the largest lists, but not by this much. */
const TIMES_TOO_FEW = 100;
/** The columns by which people are looked up; other columns are left to the regular ANALYZE. */
const COLUMNS = sql`(customer_id, list_id, id, email_key, status)`;

/**
 * Analyses the table of people if the planner expects less than a hundredth of the list, unless the list has not doubled since it
 * had `before` members. Returns how many it has. Skipped if another session analyses the table.
 */
export async function refreshPlanner(
  db: Queryable,
  { customerId, listId }: { readonly customerId: bigint; readonly listId: bigint },
  before = 0,
): Promise<number> {
  const [counted] = await db.query(
    { members: 'int' },
    sql`
    SELECT (subscribed + unsubscribed + unconfirmed + pending)::int AS members FROM hot.list_counter
     WHERE customer_id = ${customerId} AND list_id = ${listId}`,
  );
  const members = counted?.members ?? 0;
  if (members < MEMBERS_MIN || members < 2 * before) return before;
  const expected = await expectedRows(db, listId);
  if (expected * TIMES_TOO_FEW < members) await db.execute(sql`ANALYZE (SKIP_LOCKED) subscriber ${COLUMNS}`);
  return members;
}

/** By the list alone: the list implies its customer, which the planner does not know; it would count both conditions. */
async function expectedRows(db: Queryable, listId: bigint): Promise<number> {
  const [explained] = await db.query(
    { 'QUERY PLAN': typed<readonly [{ Plan: { 'Plan Rows': number } }]>('json') },
    sql`EXPLAIN (FORMAT JSON) SELECT FROM subscriber WHERE list_id = ${listId}`,
  );
  return explained?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
}
