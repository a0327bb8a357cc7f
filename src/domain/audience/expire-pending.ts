/**
 * Those who never clicked their confirmation link become `unconfirmed` when it has run out (decision D17). Who had
 * unsubscribed before is `unsubscribed` again: that anybody asked, and nobody answered, takes nothing back.
 */
import { sql } from '../../db/database.ts';
import type { Context } from '../context.ts';

/** Expires what is due, whatever list it is on; answers how many that were. */
export async function expirePending(ctx: Context): Promise<number> {
  const lists = await ctx.db.query<{ customer_id: bigint; list_id: bigint }>(
    sql`SELECT DISTINCT customer_id, list_id FROM subscriber WHERE pending_until <= now() ORDER BY customer_id, list_id`,
  );
  let expired = 0;
  // By an index of those whose time runs, who are few. One statement per list: one short lock of its counter each.
  for (const list of lists) {
    expired += await ctx.db.execute(sql`
      WITH late AS (
        UPDATE subscriber s
           SET status = CASE (SELECT e.status FROM consent_event e
                               WHERE e.customer_id = s.customer_id AND e.list_id = s.list_id AND e.subscriber_id = s.id
                                 AND e.status IN ('subscribed', 'unsubscribed') ORDER BY e.id DESC LIMIT 1)
                        WHEN 'unsubscribed' THEN 'unsubscribed' ELSE 'unconfirmed' END,
               pending_until = NULL, updated_at = now()
         WHERE customer_id = ${list.customer_id} AND list_id = ${list.list_id}
           AND status = 'pending' AND pending_until <= now()
        RETURNING customer_id, list_id, id, status)
      INSERT INTO consent_event (customer_id, list_id, subscriber_id, status, source)
      SELECT customer_id, list_id, id, status, 'expiry' FROM late`);
  }
  return expired;
}
