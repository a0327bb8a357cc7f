/** Pending people whose confirmation link has expired. */
import { sql, row, type Queryable, type RowOf } from '../../db/database.ts';

const PENDING_SLICE_ROW = row({
  customerId: 'bigint',
  listId: 'bigint',
  ids: 'bigint[]',
});
export type PendingSlice = RowOf<typeof PENDING_SLICE_ROW>;

/** Expired ones, by an index of pending people only. Of one list each: one short lock of its counters. */
export function pendingDue(db: Queryable, peopleAtOnce: number): Promise<PendingSlice[]> {
  return db.query(
    PENDING_SLICE_ROW,
    sql`
    SELECT customer_id AS "customerId", list_id AS "listId", array_agg(id ORDER BY id) AS ids
      FROM (SELECT customer_id, list_id, id, (row_number() OVER (PARTITION BY customer_id, list_id ORDER BY id) - 1) / ${peopleAtOnce}::int AS slice
              FROM subscriber WHERE pending_until <= now()) due
     GROUP BY customer_id, list_id, slice ORDER BY customer_id, list_id, slice`,
  );
}

/** Writes the status before, or `unconfirmed`, and the history. Returns the number of people. */
export function expireSlice(db: Queryable, { customerId, listId, ids }: PendingSlice): Promise<number> {
  // Locked in the order of ids, like all who write people do (docs/decisions/0352).
  return db.execute(sql`
    WITH due AS MATERIALIZED (
      SELECT id FROM subscriber
       WHERE customer_id = ${customerId} AND list_id = ${listId} AND id = ANY (${[...ids]}::bigint[])
         AND status = 'pending' AND pending_until <= now()
       ORDER BY id FOR NO KEY UPDATE
    ), late AS (
      UPDATE subscriber s
         SET status = CASE (SELECT e.status FROM consent_event e
                             WHERE e.customer_id = s.customer_id AND e.list_id = s.list_id AND e.subscriber_id = s.id
                               AND e.status IN ('subscribed', 'unsubscribed') ORDER BY e.id DESC LIMIT 1)
                      WHEN 'unsubscribed' THEN 'unsubscribed' ELSE 'unconfirmed' END,
             pending_until = NULL, updated_at = now()
       WHERE customer_id = ${customerId} AND list_id = ${listId} AND id = ANY (ARRAY(SELECT id FROM due))
      RETURNING customer_id, list_id, id, status)
    INSERT INTO consent_event (customer_id, list_id, subscriber_id, status, source)
    SELECT customer_id, list_id, id, status, 'expiry' FROM late`);
}
