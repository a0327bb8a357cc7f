/** Writes that somebody unsubscribed because of a message: event, activity and counter in one statement. */
import { sql, type Queryable } from '../../db/database.ts';
import type { TrackedRecipient, Visitor } from './tracking.ts';
import type { UnsubscribeReason } from './unsubscribe-reason.ts';

export interface Unsubscribe {
  readonly recipient: TrackedRecipient;
  readonly visitor: Visitor;
  /** `one-click` by a robot of the mail provider (RFC 8058), `link` by the page. */
  readonly source: 'one-click' | 'link';
  /** What the person chose as the reason, if anything. */
  readonly reason: UnsubscribeReason | null;
}

/** Answers whether this was the recipient's first time. Nothing is written for a campaign or person that is gone. */
export async function countUnsubscribe(db: Queryable, { recipient, visitor, reason }: Unsubscribe): Promise<boolean> {
  const { customerId, listId, campaignId, subscriberId } = recipient;
  const rows = await db.query(
    sql`WITH first AS (
          INSERT INTO hot.recipient_activity AS a (customer_id, campaign_id, subscriber_id, unsubscribed_at)
          SELECT c.customer_id, c.id, s.id, now() FROM campaign c
            JOIN subscriber s ON s.customer_id = c.customer_id AND s.list_id = c.list_id AND s.id = ${subscriberId}
           WHERE c.customer_id = ${customerId} AND c.id = ${campaignId} AND c.list_id = ${listId}
          ON CONFLICT (customer_id, campaign_id, subscriber_id) DO UPDATE SET unsubscribed_at = excluded.unsubscribed_at
           WHERE a.unsubscribed_at IS NULL
          RETURNING customer_id, campaign_id, subscriber_id
        ), event AS (
          INSERT INTO hot.unsubscribe_event (at, customer_id, campaign_id, subscriber_id, reason, ip, user_agent)
          SELECT now(), customer_id, campaign_id, subscriber_id, ${reason}, ${visitor.ip}, ${visitor.userAgent} FROM first
        ), counted AS (
          INSERT INTO hot.tracking_counter AS t (customer_id, campaign_id, unsubscribe_count)
          SELECT customer_id, campaign_id, 1 FROM first
          ON CONFLICT (customer_id, campaign_id) DO UPDATE SET unsubscribe_count = t.unsubscribe_count + 1
        )
        SELECT 1 FROM first`,
    'tracking.unsubscribe',
  );
  return rows.length > 0;
}
