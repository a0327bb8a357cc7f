/** Whether a vendor may have been paid for a subscription without our knowing it. */
import { sql, type Queryable } from '../../db/database.ts';

export interface UnreadOf {
  readonly customerId: bigint;
  readonly id: bigint;
  /** What was read with success since then is known. */
  readonly since: Date;
  /** Whether subscriptions that vendors keep may pay it, too. */
  readonly withRemotes: boolean;
}

/** An open payment of its pending invoice that is at a vendor, or a live subscription of a vendor, that was not read since. */
export async function hasUnreadAtVendors(
  db: Queryable,
  { customerId, id, since, withRemotes }: UnreadOf,
): Promise<boolean> {
  const [found] = await db.query(
    { isUnread: 'bool' },
    sql`
    SELECT (EXISTS (
              SELECT 1 FROM payment_intent p JOIN invoice i ON i.customer_id = p.customer_id AND i.id = p.invoice_id
               WHERE p.customer_id = ${customerId} AND i.subscription_id = ${id} AND i.status = 'pending'
                 AND p.status IN ('PENDING', 'REQUIRES_ACTION') AND p.gateway_id IS NOT NULL AND p.reference IS NOT NULL
                 AND (p.synced_at IS NULL OR p.synced_at < ${since} OR p.sync_error IS NOT NULL))
            OR (${withRemotes}::boolean AND EXISTS (
              SELECT 1 FROM remote_subscription r
               WHERE r.customer_id = ${customerId} AND r.subscription_id = ${id} AND NOT r.is_ended
                 AND (r.synced_at IS NULL OR r.synced_at < ${since})))) AS "isUnread"`,
  );
  return found?.isUnread ?? false;
}
