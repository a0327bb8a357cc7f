/** Cancels a message that waits, in one statement. */
import { sql, type Queryable } from '../../../db/database.ts';
import type { DeliveryReason } from '../../sending/delivery-reason.ts';

const CANCELLED: DeliveryReason = 'cancelled';

/**
 * Closes a transactional mail that waits for its time. False: it does not wait any more. The row of the queue is locked before the ledger's, as whoever
 * takes and sends does; one that was taken a moment ago finds its row closed when it marks it.
 */
export async function cancelMail(
  db: Queryable,
  { customerId, id }: { readonly customerId: bigint; readonly id: bigint },
): Promise<boolean> {
  const closed = await db.execute(sql`
    WITH waiting AS (
      SELECT q.message_id FROM hot.message_queue q WHERE q.message_id = ${id} AND q.customer_id = ${customerId} FOR UPDATE
    ), closed AS (
      UPDATE hot.delivery d SET state = 'skipped', reason = ${CANCELLED}, not_before = NULL, updated_at = now()
        FROM waiting w JOIN hot.message m ON m.customer_id = ${customerId} AND m.id = w.message_id
       WHERE m.purpose = 'transactional' AND m.send_at > now() AND d.snapshot_on = m.snapshot_on AND d.customer_id = m.customer_id
         AND d.source_kind = m.source_kind AND d.source_id = m.source_id AND d.recipient_id = m.recipient_id AND d.occurrence = m.id
         AND d.state = 'queued' AND d.attempts = 0
      RETURNING d.occurrence
    ), gone AS (
      DELETE FROM hot.message_queue q USING closed c WHERE q.message_id = c.occurrence
    )
    SELECT 1 FROM closed`);
  return closed > 0;
}
