/** Which subscription of a vendor pays one of ours now. */
import { row, sql, type Queryable } from '../../../db/database.ts';
import { findRemote, type Remote } from './remote-subscription-store.ts';

export interface RemoteInForce {
  readonly intentUid: string;
  readonly gatewayId: bigint;
  /** When its first payment succeeded. */
  readonly begunAt: Date | null;
  /** Undefined: the vendor has not shown it yet. */
  readonly remote: Remote | undefined;
}

const IN_FORCE = row({ intentUid: 'text', gatewayId: 'bigint', begunAt: 'timestamptz?', remoteRowId: 'bigint?' });

/** The vendor's subscription that pays this one now. The payment that began it has succeeded, and it has not ended. */
export async function remoteInForce(
  db: Queryable,
  { customerId, id }: { readonly customerId: bigint; readonly id: bigint },
): Promise<RemoteInForce | undefined> {
  const [found] = await db.query(
    IN_FORCE,
    sql`
    SELECT p.uid AS "intentUid", p.gateway_id AS "gatewayId", p.decided_at AS "begunAt", r.id AS "remoteRowId"
      FROM payment_intent p
      JOIN invoice i ON i.customer_id = p.customer_id AND i.id = p.invoice_id
      LEFT JOIN LATERAL (
        SELECT x.id, x.is_ended FROM remote_subscription x
         WHERE x.customer_id = p.customer_id AND x.intent_uid = p.uid AND x.gateway_id = p.gateway_id
         ORDER BY x.is_ended, x.id LIMIT 1) r ON true
     WHERE p.customer_id = ${customerId} AND i.subscription_id = ${id} AND p.remote_plan_id IS NOT NULL AND p.gateway_id IS NOT NULL
       AND p.status = 'SUCCEEDED' AND NOT coalesce(r.is_ended, false)
     ORDER BY p.id DESC LIMIT 1`,
  );
  if (!found) return undefined;
  const { remoteRowId, ...begun } = found;
  const remote = remoteRowId === null ? undefined : await findRemote(db, { customerId, id: remoteRowId });
  return { ...begun, remote };
}
