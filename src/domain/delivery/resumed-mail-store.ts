/** Mails of a flow that were held back while it was stopped. */
import { row, sql, type Queryable } from '../../db/database.ts';
import { notify } from '../../db/listen.ts';
import { PRIORITIES } from '../messages/message.ts';
import { SOURCE_KINDS } from '../source-key.ts';

/** On which message senders listen. */
const MESSAGES_CHANNEL = 'messages';

const WAITING_ROW = row({ id: 'bigint', notBefore: 'text' });

/** The place in the queue of the customer's mails of flows up to which all was looked at. */
export interface QueuePlace {
  readonly id: bigint;
  /** To the microsecond, as the database writes it: mails of one batch have the same time, and there may be more of them than `max`. */
  readonly notBefore: string;
}

export const FIRST_PLACE: QueuePlace = { id: 0n, notBefore: '-infinity' };

/**
 * Makes those due that are among the next `max` mails of the customer's flows that wait for a later time. Returns the last of these; undefined:
 * there are no further ones. What is due already, as after the last call, is not looked at again.
 */
export async function releaseMails(
  db: Queryable,
  { customerId, automationId }: { readonly customerId: bigint; readonly automationId: bigint },
  { after, max }: { readonly after: QueuePlace; readonly max: number },
): Promise<QueuePlace | undefined> {
  const waiting = await db.query(
    WAITING_ROW,
    sql`SELECT q.message_id AS id, q.not_before::text AS "notBefore" FROM hot.message_queue q
         WHERE q.priority = ${PRIORITIES.flow} AND q.customer_id = ${customerId} AND q.not_before >= greatest(now(), ${after.notBefore}::timestamptz)
           AND (q.not_before, q.message_id) > (${after.notBefore}::timestamptz, ${after.id}) ORDER BY q.not_before, q.message_id LIMIT ${max}`,
  );
  const ids = waiting.map(({ id }) => id);
  await db.execute(
    sql`WITH held AS MATERIALIZED (
          SELECT q.message_id, q.customer_id FROM hot.message_queue q
           WHERE q.message_id = ANY (${ids}::bigint[]) AND q.owner IS NULL ORDER BY q.message_id FOR UPDATE SKIP LOCKED
        )
        UPDATE hot.message_queue q SET not_before = now()
          FROM held h
          JOIN hot.message m ON m.customer_id = h.customer_id AND m.id = h.message_id
          JOIN hot.delivery d ON d.snapshot_on = m.snapshot_on AND d.customer_id = m.customer_id AND d.source_kind = m.source_kind
           AND d.source_id = m.source_id AND d.recipient_id = m.recipient_id AND d.occurrence = m.id
         WHERE q.message_id = h.message_id AND m.source_kind = ${SOURCE_KINDS.automation} AND m.source_id = ${automationId}
           AND d.state = 'queued' AND d.reason = 'flow_stopped'`,
  );
  await notify(db, MESSAGES_CHANNEL, '');
  return waiting.length < max ? undefined : waiting.at(-1);
}
