/**
 * Those who never clicked their confirmation link become `unconfirmed` when it has run out (decision D17). Who had
 * unsubscribed before is `unsubscribed` again: that anybody asked, and nobody answered, takes nothing back.
 */
import { sql } from '../../db/database.ts';
import type { Context } from '../context.ts';

/** People of a statement: half a second of work, in which their list's counters are locked. */
const PEOPLE_AT_ONCE = 5_000;

interface Due extends Record<string, unknown> {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly ids: readonly bigint[];
}

/** Expires what is due, whatever list it is on; answers how many that were. Each slice is done when it has committed. */
export async function expirePending(ctx: Context): Promise<number> {
  let expired = 0;
  for (const due of await slicesDue(ctx)) expired += await expire(ctx, due);
  if (expired > 0) ctx.log.info('audience.pending_expired', { expired });
  return expired;
}

/** By an index of those whose time runs, who are few. Of one list each: one short lock of its counters. */
function slicesDue({ db }: Context): Promise<Due[]> {
  return db.query<Due>(sql`
    SELECT customer_id AS "customerId", list_id AS "listId", array_agg(id ORDER BY id) AS ids
      FROM (SELECT customer_id, list_id, id, (row_number() OVER (PARTITION BY customer_id, list_id ORDER BY id) - 1) / ${PEOPLE_AT_ONCE}::int AS slice
              FROM subscriber WHERE pending_until <= now()) due
     GROUP BY customer_id, list_id, slice ORDER BY customer_id, list_id, slice`);
}

function expire({ db }: Context, { customerId, listId, ids }: Due): Promise<number> {
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
