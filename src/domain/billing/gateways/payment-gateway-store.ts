/** Writes of payment gateways, and the reads that the verbs need. */
import { join, sql, type Queryable } from '../../../db/database.ts';
import { assignments, columnsOf, insertion, selectList } from '../../../db/fields.ts';
import { gatewayFields, storedGatewayColumns } from './payment-gateway-fields.ts';
import type { GatewayValues, StoredGateway } from './payment-gateway.ts';

const GATEWAY_ROW = columnsOf(storedGatewayColumns);
/** Open at the vendor, or ended here while the vendor may still take the money. Claims of transfers need no vendor. */
const IS_PAYABLE = sql`(p.status IN ('PENDING', 'REQUIRES_ACTION')
  OR (p.status IN ('FAILED', 'CANCELLED') AND p.reference IS NOT NULL AND p.next_sync_at IS NOT NULL))`;

export async function insertGateway(db: Queryable, gateway: GatewayValues): Promise<StoredGateway> {
  const [row] = await db.query(
    GATEWAY_ROW,
    sql`INSERT INTO payment_gateway ${insertion(gatewayFields, gateway)} RETURNING ${selectList(storedGatewayColumns)}`,
  );
  if (!row) throw new Error('An inserted payment gateway came back empty.');
  return row;
}

export async function updateGatewayRow(db: Queryable, { id }: StoredGateway, changes: GatewayValues): Promise<void> {
  const written = assignments(gatewayFields, changes);
  await db.execute(sql`UPDATE payment_gateway SET ${join([sql`updated_at = now()`, ...written])} WHERE id = ${id}`);
}

/** Its payments stay, and are not read at the vendor any more. */
export async function deleteGatewayRow(db: Queryable, { id }: StoredGateway): Promise<void> {
  await db.execute(
    sql`UPDATE payment_intent SET next_sync_at = NULL WHERE gateway_id = ${id} AND next_sync_at IS NOT NULL`,
  );
  await db.execute(sql`DELETE FROM payment_gateway WHERE id = ${id}`);
}

/** `lock` prevents others from changing or deleting it. */
export async function findGateway(db: Queryable, uid: string, lock = false): Promise<StoredGateway | undefined> {
  const [row] = await db.query(
    GATEWAY_ROW,
    sql`SELECT ${selectList(storedGatewayColumns)} FROM payment_gateway
         WHERE uid = ${uid} ${lock ? sql`FOR UPDATE` : sql``}`,
  );
  return row;
}

/** All of them, the oldest first: there are at most a hundred. */
export function allGateways(db: Queryable): Promise<StoredGateway[]> {
  return db.query(GATEWAY_ROW, sql`SELECT ${selectList(storedGatewayColumns)} FROM payment_gateway ORDER BY id`);
}

/** Payments of the gateway whose money may be moving now. */
export async function countCharging(db: Queryable, { id }: StoredGateway): Promise<number> {
  const [row] = await db.query(
    { count: 'int' },
    sql`SELECT count(*)::int AS count FROM payment_intent
         WHERE gateway_id = ${id} AND status = 'PENDING' AND charged_at IS NOT NULL`,
  );
  return row?.count ?? 0;
}

/** A payment began a subscription at the vendor, which has not shown it yet. */
const IS_UNSHOWN = sql`(p.status = 'SUCCEEDED' AND p.remote_plan_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM remote_subscription r WHERE r.customer_id = p.customer_id AND r.intent_uid = p.uid))`;

/** Subscriptions that its vendor keeps and charges, also those that it has not shown yet while ours is active. */
export async function countRemotes(db: Queryable, { id }: StoredGateway): Promise<number> {
  const [row] = await db.query(
    { count: 'int' },
    sql`
    SELECT (SELECT count(*) FROM remote_subscription WHERE gateway_id = ${id} AND NOT is_ended)::int
         + (SELECT count(*) FROM payment_intent p
              JOIN invoice i ON i.customer_id = p.customer_id AND i.id = p.invoice_id
              JOIN subscription s ON s.customer_id = i.customer_id AND s.id = i.subscription_id
             WHERE p.gateway_id = ${id} AND s.status = 'active' AND ${IS_UNSHOWN})::int AS count`,
  );
  return row?.count ?? 0;
}

/**
 * What its vendor still has: methods that customers have saved, payments that can still be paid there, and subscriptions, also those that it says not
 * to know: with the right keys they may be there.
 */
export async function leftAtVendor(
  db: Queryable,
  { id }: StoredGateway,
): Promise<{ methods: number; payments: number; subscriptions: number }> {
  const [row] = await db.query(
    { methods: 'int', payments: 'int', subscriptions: 'int' },
    sql`
    SELECT (SELECT count(*) FROM payment_method WHERE gateway_id = ${id} AND sealed_data <> '')::int AS methods,
           (SELECT count(*) FROM payment_intent p WHERE p.gateway_id = ${id} AND (${IS_PAYABLE} OR ${IS_UNSHOWN}))::int AS payments,
           (SELECT count(*) FROM remote_subscription WHERE gateway_id = ${id} AND (NOT is_ended OR gone_said_at IS NOT NULL))::int
             AS subscriptions`,
  );
  return row ?? { methods: 0, payments: 0, subscriptions: 0 };
}
