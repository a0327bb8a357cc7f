/** Whether a vendor may have been paid for a subscription without our knowing it. */
import { row, sql, type Queryable, type RowOf, type Sql } from '../../../db/database.ts';

export interface UnreadOf {
  readonly customerId: bigint;
  readonly id: bigint;
  /** What was read with success since then is known. */
  readonly since: Date;
  /** Whether subscriptions that vendors keep may pay it, too. */
  readonly withRemotes: boolean;
}

const WAITING_ROW = row({ customerId: 'bigint', id: 'bigint', gatewayId: 'bigint' });
/** A due subscription, and a gateway at which it may have been paid. */
export type WaitingAtVendor = RowOf<typeof WAITING_ROW>;

/** The gateways of open payments of its pending invoice that are at a vendor, and of live subscriptions of vendors, that were not read since. */
function unreadGateways(of: { customerId: Sql; id: Sql; since: Sql; withRemotes: Sql }): Sql {
  return sql`
    SELECT p.gateway_id FROM payment_intent p JOIN invoice i ON i.customer_id = p.customer_id AND i.id = p.invoice_id
     WHERE p.customer_id = ${of.customerId} AND i.subscription_id = ${of.id} AND i.status = 'pending'
       AND p.status IN ('PENDING', 'REQUIRES_ACTION') AND p.gateway_id IS NOT NULL AND p.reference IS NOT NULL
       AND (p.synced_at IS NULL OR p.synced_at < ${of.since} OR p.sync_error IS NOT NULL)
    UNION
    SELECT r.gateway_id FROM remote_subscription r
     WHERE ${of.withRemotes} AND r.customer_id = ${of.customerId} AND r.subscription_id = ${of.id} AND NOT r.is_ended
       AND (r.synced_at IS NULL OR r.synced_at < ${of.since})`;
}

export async function hasUnreadAtVendors(
  db: Queryable,
  { customerId, id, since, withRemotes }: UnreadOf,
): Promise<boolean> {
  const gateways = unreadGateways({
    ...{ customerId: sql`${customerId}`, id: sql`${id}`, since: sql`${since}::timestamptz` },
    withRemotes: sql`${withRemotes}::boolean`,
  });
  const [found] = await db.query({ isUnread: 'bool' }, sql`SELECT EXISTS (${gateways}) AS "isUnread"`);
  return found?.isUnread ?? false;
}

/** Due subscriptions of which a vendor has to say something first: of each gateway at most `max`, those that were asked about longest ago first. */
export function waitingAtVendors(
  db: Queryable,
  { at, readSince, max }: { readonly at: Date; readonly readSince: Date; readonly max: number },
): Promise<WaitingAtVendor[]> {
  const gateways = unreadGateways({
    ...{
      customerId: sql`s.customer_id`,
      id: sql`s.id`,
      since: sql`greatest(s.next_step_at, ${readSince}::timestamptz)`,
    },
    // As read-before-end.ts: in its days of grace a vendor's subscription may pay it.
    withRemotes: sql`s.status = 'active' AND s.grace_ends_at IS NOT NULL`,
  });
  return db.query(
    WAITING_ROW,
    sql`
    SELECT w.customer_id AS "customerId", w.id, w.gateway_id AS "gatewayId"
      FROM (SELECT s.customer_id, s.id, g.gateway_id,
                   row_number() OVER (PARTITION BY g.gateway_id
                                      ORDER BY s.vendor_asked_at NULLS FIRST, s.next_step_at, s.id) AS place
              FROM subscription s CROSS JOIN LATERAL (${gateways}) AS g
             WHERE s.next_step_at <= ${at}
               AND EXISTS (SELECT 1 FROM customer c WHERE c.id = s.customer_id AND c.status <> 'deleting')) w
     WHERE w.place <= ${max} ORDER BY w.gateway_id, w.place`,
  );
}
