/** Those who never clicked their confirmation link become `unconfirmed` when it has run out (decision D17). */
import { sql } from '../../db/database.ts';
import type { Context } from '../context.ts';

/** Expires what is due on every list that has somebody pending; answers how many that were. */
export async function expirePending(ctx: Context): Promise<number> {
  const lists = await ctx.db.query<{ customer_id: bigint; list_id: bigint }>(
    sql`SELECT customer_id, list_id FROM hot.list_counter WHERE pending > 0 ORDER BY customer_id, list_id`,
  );
  let expired = 0;
  // One statement per list: each is one range of the primary key, and one short lock of the list's counter.
  for (const list of lists) {
    expired += await ctx.db.execute(sql`
      WITH late AS (
        UPDATE subscriber SET status = 'unconfirmed', pending_until = NULL, updated_at = now()
         WHERE customer_id = ${list.customer_id} AND list_id = ${list.list_id}
           AND status = 'pending' AND pending_until <= now()
        RETURNING customer_id, list_id, id)
      INSERT INTO consent_event (customer_id, list_id, subscriber_id, status, source)
      SELECT customer_id, list_id, id, 'unconfirmed', 'expiry' FROM late`);
  }
  return expired;
}
