/** Which of our plans is which plan of a vendor. */
import { row, sql, type Queryable, type RowOf, type Sql } from '../../../db/database.ts';

const LINK_ROW = row({ planId: 'bigint', gatewayId: 'bigint', remotePlanId: 'text', remoteName: 'text' });
export type RemotePlanLink = RowOf<typeof LINK_ROW>;

const COLUMNS = sql`
  l.plan_id AS "planId", l.gateway_id AS "gatewayId", l.remote_plan_id AS "remotePlanId", l.remote_name AS "remoteName"`;

/** Links the plan; a plan has one link at a gateway, so that another one takes its place. */
export async function writeLink(db: Queryable, { planId, gatewayId, remotePlanId, remoteName }: RemotePlanLink) {
  await db.execute(sql`
    INSERT INTO remote_plan_link (plan_id, gateway_id, remote_plan_id, remote_name)
    VALUES (${planId}, ${gatewayId}, ${remotePlanId}, ${remoteName})
    ON CONFLICT (plan_id, gateway_id) DO UPDATE SET remote_plan_id = EXCLUDED.remote_plan_id, remote_name = EXCLUDED.remote_name`);
}

/** False: there is none. */
export async function deleteLink(
  db: Queryable,
  { planId, gatewayId }: Pick<RemotePlanLink, 'planId' | 'gatewayId'>,
): Promise<boolean> {
  const deleted = await db.execute(
    sql`DELETE FROM remote_plan_link WHERE plan_id = ${planId} AND gateway_id = ${gatewayId}`,
  );
  return deleted === 1;
}

export function findLink(
  db: Queryable,
  { planId, gatewayId }: Pick<RemotePlanLink, 'planId' | 'gatewayId'>,
): Promise<RemotePlanLink | undefined> {
  return findOne(db, sql`l.plan_id = ${planId} AND l.gateway_id = ${gatewayId}`);
}

/** By the vendor's plan. */
export function findLinkOf(
  db: Queryable,
  { gatewayId, remotePlanId }: Pick<RemotePlanLink, 'gatewayId' | 'remotePlanId'>,
): Promise<RemotePlanLink | undefined> {
  return findOne(db, sql`l.gateway_id = ${gatewayId} AND l.remote_plan_id = ${remotePlanId}`);
}

/** All of a gateway: at most as many as there are plans. */
export function linksOfGateway(db: Queryable, gatewayId: bigint): Promise<RemotePlanLink[]> {
  return db.query(
    LINK_ROW,
    sql`SELECT ${COLUMNS} FROM remote_plan_link l WHERE l.gateway_id = ${gatewayId} ORDER BY l.plan_id`,
  );
}

export async function isLinked(db: Queryable, planId: bigint): Promise<boolean> {
  return (await db.execute(sql`SELECT 1 FROM remote_plan_link WHERE plan_id = ${planId} LIMIT 1`)) > 0;
}

async function findOne(db: Queryable, where: Sql): Promise<RemotePlanLink | undefined> {
  const [found] = await db.query(LINK_ROW, sql`SELECT ${COLUMNS} FROM remote_plan_link l WHERE ${where}`);
  return found;
}
