/** Reverts wrong refusals: they are tried again, and the bounce is removed. */
import { sql, type Queryable } from '../../db/database.ts';
import { removeHardBounces } from '../../events/person-event-store.ts';
import { emailKey } from '../../lib/text.ts';
import type { DeliveryReason } from '../sending/delivery-reason.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { CAMPAIGN, ofSource, sourceOfCampaign } from '../statistics/source-read-model.ts';

/** Why they wait. */
export const REFUSED_WITH_MANY: DeliveryReason = 'refused_with_many';

/**
 * Those of these recipients who failed are queued again, including counters; their hard bounces are deleted, and with them the
 * suppressions. No older suppression is lost by that: an address that was suppressed before would have got no mail.
 */
export async function queueRefusedAgain(
  db: Queryable,
  { customerId, campaignId, subscriberIds }: CampaignKey & { subscriberIds: readonly bigint[] },
): Promise<void> {
  const source = sourceOfCampaign({ customerId, campaignId });
  // The refused addresses: their people may have others by now.
  const refused = await db.query(
    { snapshotOn: 'text', id: 'bigint', email: 'text' },
    sql`SELECT d.snapshot_on::text AS "snapshotOn", d.recipient_id AS id, d.email
          FROM campaign c
          JOIN hot.delivery d ON d.snapshot_on = c.snapshot_on AND d.customer_id = c.customer_id AND d.source_kind = ${CAMPAIGN} AND d.source_id = c.id
           AND d.recipient_id = ANY(${[...subscriberIds]}::bigint[]) AND d.state = 'failed'
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
           WHERE d.snapshot_on = r.snapshot_on AND ${ofSource('d', source)} AND d.recipient_id = r.id AND d.state = 'failed'
          RETURNING r.id, r.email_key
        ), counted AS (
          UPDATE hot.delivery_counter c SET failed = c.failed - t.n, open = c.open + t.n
            FROM (SELECT count(*) AS n FROM queued) t
           WHERE ${ofSource('c', source)} AND t.n > 0
        ), bounced AS (
          UPDATE hot.recipient_activity a SET bounced_at = NULL, bounce_type = NULL
            FROM queued q
           WHERE ${ofSource('a', source)} AND a.recipient_id = q.id AND a.bounce_type = 'hard'
          RETURNING q.id, q.email_key
        ), uncounted AS (
          UPDATE hot.tracking_counter t SET bounce_count = t.bounce_count - b.n, refused_bounce_count = t.refused_bounce_count - b.n
            FROM (SELECT count(*) AS n FROM bounced) b
           WHERE ${ofSource('t', source)} AND b.n > 0
        ), forgotten AS (
          DELETE FROM hot.bounce_event e USING bounced b
           WHERE ${ofSource('e', source)} AND e.recipient_id = b.id AND e.type = 'hard'
        )
        DELETE FROM suppression x USING bounced b WHERE x.customer_id = ${customerId} AND x.email_key = b.email_key AND x.reason = 'bounce'`,
    'tracking.queue-refused-again',
  );
  await removeHardBounces(
    db,
    customerId,
    refused.map(({ id }) => id),
  );
}

/** Recipients whose mailbox was refused as unknown in the last seconds. */
export async function hardBouncesWithin(db: Queryable, campaign: CampaignKey, seconds: number): Promise<bigint[]> {
  const rows = await db.query(
    { id: 'bigint' },
    sql`SELECT DISTINCT e.recipient_id AS id FROM hot.bounce_event e
         WHERE ${ofSource('e', sourceOfCampaign(campaign))} AND e.at >= clock_timestamp() - make_interval(secs => ${seconds}) AND e.type = 'hard'
         ORDER BY 1`,
    'delivery.take-back-refusals',
  );
  return rows.map(({ id }) => id);
}
