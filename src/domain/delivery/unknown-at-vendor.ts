/**
 * Messages of unknown fate at a vendor that knows a message again by its key: sending one again is harmless while the
 * vendor remembers the key, and a second copy afterwards. Drivers say how long that is (`idempotencyKeySeconds`).
 */
import { sql, type Queryable } from '../../db/database.ts';
import { retrySecondsOf, type LedgerRange } from './delivery.ts';

/**
 * Notes since when queued messages of the range are in doubt, and parks those that the vendor may not know any more, or
 * that were handed to another server. To be asked before anybody is taken from the range.
 */
export async function parkOldUnknownOutcomes(
  db: Queryable,
  range: LedgerRange,
  vendor: { serverId: bigint; keySeconds: number },
): Promise<void> {
  await db.execute(
    sql`WITH doubted AS (
          UPDATE hot.delivery d
             SET doubted_since = coalesce(d.doubted_since, d.updated_at),
                 state = CASE WHEN coalesce(d.server_id, ${vendor.serverId}) = ${vendor.serverId}
                               AND coalesce(d.doubted_since, d.updated_at) + make_interval(secs => ${retrySecondsOf(vendor.keySeconds)}) > now()
                              THEN 'queued' ELSE 'unknown' END::hot.delivery_state
           WHERE d.planned_on = ${range.plannedOn}::date AND d.customer_id = ${range.customerId}
             AND d.campaign_id = ${range.campaignId} AND d.subscriber_id BETWEEN ${range.fromId} AND ${range.toId}
             AND d.state = 'queued' AND d.ambiguous_count > 0
          RETURNING d.state
        )
        UPDATE hot.delivery_counter c SET open = c.open - t.n, unknown = c.unknown + t.n
          FROM (SELECT count(*) AS n FROM doubted WHERE state = 'unknown') t
         WHERE c.customer_id = ${range.customerId} AND c.campaign_id = ${range.campaignId} AND t.n > 0`,
    'delivery.park-doubts',
  );
}
