/**
 * Tells the database's planner of a list that it takes for (nearly) empty. It knows customers and lists by its last look at
 * the table, which comes when a tenth of all rows is new: on a large installation the people of a new customer are not
 * among what it expects for a long time, and whoever is looked up by id is looked for among all of them.
 */
import { sql, type Queryable } from '../../../db/database.ts';

/** Below that, a plan that reads the whole list does no harm. */
const MEMBERS_MIN = 1_000;
/** It may be wrong by much, as it goes by averages for all but the largest lists; it must not be this wrong. */
const TIMES_TOO_FEW = 100;
/** What people are looked up by; all other columns are left to the database's own round. */
const COLUMNS = sql`(customer_id, list_id, id, email_key, status)`;

/**
 * Looks at the table of people if the planner expects less than a hundredth of the list, unless the list has not doubled since
 * it had `before` members. Answers how many it has. A table that somebody else is looking at is left out.
 */
export async function tellPlanner(
  db: Queryable,
  { customerId, listId }: { readonly customerId: bigint; readonly listId: bigint },
  before = 0,
): Promise<number> {
  const [counted] = await db.query<{ members: number }>(sql`
    SELECT (subscribed + unsubscribed + unconfirmed + pending)::int AS members FROM hot.list_counter
     WHERE customer_id = ${customerId} AND list_id = ${listId}`);
  const members = counted?.members ?? 0;
  if (members < MEMBERS_MIN || members < 2 * before) return before;
  const expected = await expectedRows(db, listId);
  if (expected * TIMES_TOO_FEW < members) await db.execute(sql`ANALYZE (SKIP_LOCKED) subscriber ${COLUMNS}`);
  return members;
}

/** By the list alone: it says whose it is, which the planner does not know, and would count twice. */
async function expectedRows(db: Queryable, listId: bigint): Promise<number> {
  const [explained] = await db.query<{ 'QUERY PLAN': readonly [{ Plan: { 'Plan Rows': number } }] }>(
    sql`EXPLAIN (FORMAT JSON) SELECT FROM subscriber WHERE list_id = ${listId}`,
  );
  return explained?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
}
