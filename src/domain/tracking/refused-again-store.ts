/** Undoes refusals that nobody should have believed: they are tried again, and nothing is left of the bounce. */
import { sql, type Queryable } from '../../db/database.ts';
import { emailKey } from '../../lib/text.ts';
import type { DeliveryReason } from '../sending/delivery-reason.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';

/** Why they wait. */
export const REFUSED_WITH_MANY: DeliveryReason = 'refused_with_many';

/**
 * Of these recipients, those who failed are queued again, counters included; of those a hard bounce was written down for,
 * it goes, and with it the suppression: whoever was suppressed before was not written to.
 */
export async function queueRefusedAgain(
  db: Queryable,
  { customerId, campaignId, subscriberIds }: CampaignKey & { subscriberIds: readonly bigint[] },
): Promise<void> {
  // The addresses that were refused: their people may have others by now.
  const refused = await db.query<{ snapshotOn: string; id: bigint; email: string }>(
    sql`SELECT d.snapshot_on::text AS "snapshotOn", d.subscriber_id AS id, d.email
          FROM campaign c
          JOIN hot.delivery d ON d.snapshot_on = c.snapshot_on AND d.customer_id = c.customer_id AND d.campaign_id = c.id
           AND d.subscriber_id = ANY(${[...subscriberIds]}::bigint[]) AND d.state = 'failed'
         WHERE c.customer_id = ${customerId} AND c.id = ${campaignId}`,
    'tracking.refused',
  );
  await db.execute(
    sql`WITH refused AS (
          SELECT * FROM unnest(${refused.map(({ snapshotOn }) => snapshotOn)}::date[], ${refused.map(({ id }) => id)}::bigint[],
                               ${refused.map(({ email }) => (email === '' ? null : emailKey(email)))}::text[]) AS r (snapshot_on, id, email_key)
        ), queued AS (
          UPDATE hot.delivery d SET state = 'queued', reason = ${REFUSED_WITH_MANY}, owner = NULL, lease_expires_at = NULL, not_before = NULL, updated_at = now()
            FROM refused r
           WHERE d.snapshot_on = r.snapshot_on AND d.customer_id = ${customerId} AND d.campaign_id = ${campaignId} AND d.subscriber_id = r.id AND d.state = 'failed'
          RETURNING r.id, r.email_key
        ), counted AS (
          UPDATE hot.delivery_counter c SET failed = c.failed - t.n, open = c.open + t.n
            FROM (SELECT count(*) AS n FROM queued) t
           WHERE c.customer_id = ${customerId} AND c.campaign_id = ${campaignId} AND t.n > 0
        ), bounced AS (
          UPDATE hot.recipient_activity a SET bounced_at = NULL, bounce_type = NULL
            FROM queued q
           WHERE a.customer_id = ${customerId} AND a.campaign_id = ${campaignId} AND a.subscriber_id = q.id AND a.bounce_type = 'hard'
          RETURNING q.id, q.email_key
        ), uncounted AS (
          UPDATE hot.tracking_counter t SET bounce_count = t.bounce_count - b.n, refused_bounce_count = t.refused_bounce_count - b.n
            FROM (SELECT count(*) AS n FROM bounced) b
           WHERE t.customer_id = ${customerId} AND t.campaign_id = ${campaignId} AND b.n > 0
        ), forgotten AS (
          DELETE FROM hot.bounce_event e USING bounced b
           WHERE e.customer_id = ${customerId} AND e.campaign_id = ${campaignId} AND e.subscriber_id = b.id AND e.type = 'hard'
        )
        DELETE FROM suppression x USING bounced b WHERE x.customer_id = ${customerId} AND x.email_key = b.email_key AND x.reason = 'bounce'`,
    'tracking.queue-refused-again',
  );
}

/** Whose mailbox was said not to exist in the last seconds. */
export async function hardBouncesWithin(
  db: Queryable,
  { customerId, campaignId }: CampaignKey,
  seconds: number,
): Promise<bigint[]> {
  const rows = await db.query<{ id: bigint }>(
    sql`SELECT DISTINCT subscriber_id AS id FROM hot.bounce_event
         WHERE customer_id = ${customerId} AND campaign_id = ${campaignId} AND at >= clock_timestamp() - make_interval(secs => ${seconds}) AND type = 'hard'
         ORDER BY subscriber_id`,
    'delivery.take-back-refusals',
  );
  return rows.map(({ id }) => id);
}
