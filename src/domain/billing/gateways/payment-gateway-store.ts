/** Writes of payment gateways, and the reads that the verbs need. */
import { join, sql, type Queryable } from '../../../db/database.ts';
import { assignments, columnsOf, insertion, selectList } from '../../../db/fields.ts';
import { gatewayFields, storedGatewayColumns } from './payment-gateway-fields.ts';
import type { GatewayValues, StoredGateway } from './payment-gateway.ts';

const GATEWAY_ROW = columnsOf(storedGatewayColumns);

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

export async function deleteGatewayRow(db: Queryable, { id }: StoredGateway): Promise<void> {
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

/** Payments of the gateway whose state at the vendor is still read, and subscriptions that its vendor keeps. */
export async function countUnsettled(db: Queryable, { id }: StoredGateway): Promise<number> {
  const [row] = await db.query(
    { count: 'int' },
    sql`
    SELECT ((SELECT count(*) FROM payment_intent WHERE gateway_id = ${id} AND next_sync_at IS NOT NULL)
            + (SELECT count(*) FROM remote_subscription WHERE gateway_id = ${id} AND NOT is_ended))::int AS count`,
  );
  return row?.count ?? 0;
}
