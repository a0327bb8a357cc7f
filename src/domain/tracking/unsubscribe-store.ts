/** Records that a person unsubscribed because of a message: event, activity and counter in one statement. */
import { sql, type Queryable } from '../../db/database.ts';
import { CAMPAIGN, ofDelivery } from '../statistics/source-read-model.ts';
import type { DeliveryKey } from '../source-key.ts';
import type { TrackedRecipient, Visitor } from './tracking.ts';
import type { UnsubscribeReason } from './unsubscribe-reason.ts';

export interface Unsubscribe {
  readonly recipient: TrackedRecipient;
  readonly visitor: Visitor;
  /**
   * `one-click` by a robot of the mail provider (RFC 8058), `link` by the page, `mail` by a mail to the address in the header, `vendor` by a
   * link of the vendor's own.
   */
  readonly source: 'one-click' | 'link' | 'mail' | 'vendor';
  /** The reason that the person chose, if any. */
  readonly reason: UnsubscribeReason | null;
}

/** Returns whether this was the recipient's first time. Nothing is written for a deleted source or person. */
export async function countUnsubscribe(db: Queryable, { recipient, visitor, reason }: Unsubscribe): Promise<boolean> {
  const { customerId, sourceKind, sourceId, recipientId, occurrence, listId } = recipient;
  const rows = await db.execute(
    sql`WITH first AS (
          INSERT INTO hot.recipient_activity AS a (customer_id, source_kind, source_id, recipient_id, occurrence, unsubscribed_at)
          SELECT s.customer_id, ${sourceKind}, ${sourceId}, s.id, ${occurrence}, now() FROM subscriber s
           WHERE s.customer_id = ${customerId} AND s.list_id = ${listId} AND s.id = ${recipientId} AND CASE WHEN ${sourceKind} = ${CAMPAIGN}
                 THEN EXISTS (SELECT 1 FROM campaign c WHERE c.customer_id = ${customerId} AND c.id = ${sourceId} AND c.list_id = ${listId})
                 ELSE EXISTS (SELECT 1 FROM hot.delivery d WHERE ${ofDelivery('d', recipient)}) END
          ON CONFLICT (customer_id, source_kind, source_id, recipient_id, occurrence) DO UPDATE SET unsubscribed_at = excluded.unsubscribed_at
           WHERE a.unsubscribed_at IS NULL
          RETURNING customer_id, source_kind, source_id, recipient_id, occurrence
        ), event AS (
          INSERT INTO hot.unsubscribe_event (at, customer_id, source_kind, source_id, recipient_id, occurrence, reason, ip, user_agent)
          SELECT now(), customer_id, source_kind, source_id, recipient_id, occurrence, ${reason}, ${visitor.ip}, ${visitor.userAgent} FROM first
        ), counted AS (
          INSERT INTO hot.tracking_counter AS t (customer_id, source_kind, source_id, unsubscribe_count)
          SELECT customer_id, source_kind, source_id, 1 FROM first
          ON CONFLICT (customer_id, source_kind, source_id) DO UPDATE SET unsubscribe_count = t.unsubscribe_count + 1
        )
        SELECT 1 FROM first`,
    'tracking.unsubscribe',
  );
  return rows > 0;
}

/** Takes the unsubscribe of this recipient out again: event, activity and counter. Returns whether there was one. */
export async function uncountUnsubscribe(db: Queryable, recipient: TrackedRecipient): Promise<boolean> {
  const { customerId, sourceKind, sourceId, recipientId, occurrence } = recipient;
  const rows = await db.execute(
    sql`WITH undone AS (
          UPDATE hot.recipient_activity SET unsubscribed_at = NULL
           WHERE customer_id = ${customerId} AND source_kind = ${sourceKind} AND source_id = ${sourceId}
             AND recipient_id = ${recipientId} AND occurrence = ${occurrence} AND unsubscribed_at IS NOT NULL
          RETURNING customer_id, source_kind, source_id, recipient_id, occurrence
        ), event AS (
          DELETE FROM hot.unsubscribe_event e USING undone u
           WHERE e.customer_id = u.customer_id AND e.source_kind = u.source_kind AND e.source_id = u.source_id
             AND e.recipient_id = u.recipient_id AND e.occurrence = u.occurrence
        ), counted AS (
          UPDATE hot.tracking_counter t SET unsubscribe_count = t.unsubscribe_count - 1 FROM undone u
           WHERE t.customer_id = u.customer_id AND t.source_kind = u.source_kind AND t.source_id = u.source_id
        )
        SELECT 1 FROM undone`,
    'tracking.undo-unsubscribe',
  );
  return rows > 0;
}

/** The list that a message's recipient is on; for one who is gone, that of its campaign. Null: both are gone. */
export async function listOfRecipient(
  db: Queryable,
  { customerId, sourceKind, sourceId, recipientId }: DeliveryKey,
): Promise<bigint | null> {
  const [row] = await db.query(
    { listId: 'bigint?' },
    sql`SELECT coalesce((SELECT s.list_id FROM subscriber s WHERE s.customer_id = ${customerId} AND s.id = ${recipientId}),
                        (SELECT c.list_id FROM campaign c WHERE c.customer_id = ${customerId} AND c.id = ${sourceId} AND ${sourceKind} = ${CAMPAIGN})) AS "listId"`,
    'tracking.list-of-recipient',
  );
  return row?.listId ?? null;
}
