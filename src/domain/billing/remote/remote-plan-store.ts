/** Which of our plans is which plan of a vendor, now and before. */
import { row, sql, type Queryable, type RowOf, type Sql } from '../../../db/database.ts';

const LINK_ROW = row({ planId: 'bigint', gatewayId: 'bigint', remotePlanId: 'text', remoteName: 'text' });
export type RemotePlanLink = RowOf<typeof LINK_ROW>;

const COLUMNS = sql`
  l.plan_id AS "planId", l.gateway_id AS "gatewayId", l.remote_plan_id AS "remotePlanId", l.remote_name AS "remoteName"`;

const RETIRED_ROW = row({
  planId: 'bigint',
  priceMinor: 'bigint',
  currencyCode: 'text',
  frequencyAmount: 'int',
  frequencyUnit: 'text',
});
/** What a plan cost while it was linked. */
export type RetiredRemotePlan = RowOf<typeof RETIRED_ROW>;

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

/**
 * Keeps what the linked plan costs, before its link is deleted or replaced by one with `nextId`: the vendor keeps subscriptions at that price,
 * whatever the plan costs later.
 */
export async function retireLink(
  db: Queryable,
  {
    planId,
    gatewayId,
    nextId,
  }: { readonly planId: bigint; readonly gatewayId: bigint; readonly nextId: string | null },
): Promise<void> {
  await db.execute(sql`
    INSERT INTO retired_remote_plan (gateway_id, remote_plan_id, plan_id, price_minor, currency_code, frequency_amount, frequency_unit)
    SELECT l.gateway_id, l.remote_plan_id, p.id, p.price_minor, p.currency_code, p.frequency_amount, p.frequency_unit
      FROM remote_plan_link l JOIN plan p ON p.id = l.plan_id
     WHERE l.plan_id = ${planId} AND l.gateway_id = ${gatewayId} AND l.remote_plan_id IS DISTINCT FROM ${nextId}::text
    ON CONFLICT (gateway_id, remote_plan_id, plan_id) DO UPDATE
       SET price_minor = EXCLUDED.price_minor, currency_code = EXCLUDED.currency_code,
           frequency_amount = EXCLUDED.frequency_amount, frequency_unit = EXCLUDED.frequency_unit, retired_at = now()`);
}

/** Links of this plan of the vendor, of this plan of ours, or of both (at most one) that are over; the latest first. */
export function findRetired(
  db: Queryable,
  { gatewayId, remotePlanId, planId }: { gatewayId: bigint; remotePlanId?: string; planId?: bigint },
): Promise<RetiredRemotePlan[]> {
  const ofTheirs = remotePlanId === undefined ? sql`` : sql`AND r.remote_plan_id = ${remotePlanId}`;
  const ofOurs = planId === undefined ? sql`` : sql`AND r.plan_id = ${planId}`;
  return db.query(
    RETIRED_ROW,
    sql`
    SELECT r.plan_id AS "planId", r.price_minor AS "priceMinor", r.currency_code AS "currencyCode",
           r.frequency_amount AS "frequencyAmount", r.frequency_unit AS "frequencyUnit"
      FROM retired_remote_plan r WHERE r.gateway_id = ${gatewayId} ${ofTheirs} ${ofOurs} ORDER BY r.retired_at DESC, r.remote_plan_id`,
  );
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
