/** Writes of plans, and the reads that the verbs need. */
import { join, sql, type Queryable, type Sql } from '../../../db/database.ts';
import { assignments, insertion, selectList, columnsOf } from '../../../db/fields.ts';
import { planColumns, planFields } from './plan-fields.ts';
import type { Plan, PlanValues } from './plan.ts';

const PLAN_ROW = columnsOf(planColumns);

const PLAN_COLUMNS = selectList(planColumns);

/** A plan without a position is put at the end. */
export async function insertPlan(db: Queryable, plan: PlanValues): Promise<Plan> {
  const customOrder = plan.customOrder ?? sql`(SELECT coalesce(max(custom_order), 0) + 1 FROM plan)`;
  const [row] = await db.query(
    PLAN_ROW,
    sql`
    INSERT INTO plan ${insertion(planFields, { ...plan, customOrder })} RETURNING ${PLAN_COLUMNS}`,
  );
  if (!row) throw new Error('An inserted plan came back empty.');
  return row;
}

/** Writes the given values. */
export async function updatePlanRow(db: Queryable, plan: Plan, changes: PlanValues): Promise<void> {
  const written = [sql`updated_at = now()`, ...assignments(planFields, changes)];
  await db.execute(sql`UPDATE plan SET ${join(written)} WHERE id = ${plan.id}`);
}

/** Writes which of the system's servers the plan's customers go through, by weight; null: as its options say. */
export async function writePlanServers(db: Queryable, { id }: Plan, servers: readonly object[] | null): Promise<void> {
  await db.execute(
    sql`UPDATE plan SET sending_servers = ${servers && JSON.stringify(servers)}::jsonb, updated_at = now() WHERE id = ${id}`,
  );
}

/** Writes which of the system's verification servers the plan's customers may use, by uid. */
export async function writePlanVerificationServers(
  db: Queryable,
  { id }: Plan,
  uids: readonly string[],
): Promise<void> {
  await db.execute(
    sql`UPDATE plan SET verification_servers = ${[...uids]}::text[], updated_at = now() WHERE id = ${id}`,
  );
}

/** `change` prevents reading it for a subscription meanwhile, `use` prevents changing or deleting it. */
export type PlanLock = 'change' | 'use';

/** The plan with this uid, unless it was deleted. */
export async function findPlan(db: Queryable, uid: string, lock?: PlanLock): Promise<Plan | undefined> {
  const [row] = await db.query(
    PLAN_ROW,
    sql`SELECT ${PLAN_COLUMNS} FROM plan WHERE uid = ${uid} AND status <> 'deleted' ${lockClause(lock)}`,
  );
  return row;
}

/** A plan that something refers to, also a deleted one. */
export async function planById(db: Queryable, id: bigint): Promise<Plan> {
  const [row] = await db.query(PLAN_ROW, sql`SELECT ${PLAN_COLUMNS} FROM plan WHERE id = ${id}`);
  if (!row) throw new Error(`Plan ${id} is referred to, but not there.`);
  return row;
}

/** Whether the customer has, or had, a subscription to it. */
export async function isPlanOf(db: Queryable, plan: Plan, customerId: bigint): Promise<boolean> {
  const rows = await db.execute(
    sql`SELECT 1 FROM subscription WHERE customer_id = ${customerId} AND plan_id = ${plan.id} LIMIT 1`,
  );
  return rows > 0;
}

export async function countPlans(db: Queryable): Promise<number> {
  const [row] = await db.query(
    { count: 'int' },
    sql`SELECT count(*)::int AS count FROM plan WHERE status <> 'deleted'`,
  );
  return row?.count ?? 0;
}

/** Subscriptions that run or wait for payment. */
export async function countLiveSubscriptions(db: Queryable, plan: Plan): Promise<number> {
  const [row] = await db.query(
    { count: 'int' },
    sql`SELECT count(*)::int AS count FROM subscription WHERE plan_id = ${plan.id} AND status <> 'ended'`,
  );
  return row?.count ?? 0;
}

/** Deletes the plan; one that is referred to is only hidden. */
export async function deletePlanRow(db: Queryable, plan: Plan): Promise<void> {
  const deleted = await db.execute(sql`
    DELETE FROM plan WHERE id = ${plan.id}
       AND NOT EXISTS (SELECT 1 FROM subscription WHERE plan_id = ${plan.id})
       AND NOT EXISTS (SELECT 1 FROM invoice WHERE plan_id = ${plan.id})`);
  if (deleted === 0) await updatePlanRow(db, plan, { status: 'deleted' });
}

function lockClause(lock: PlanLock | undefined): Sql {
  if (lock === undefined) return sql``;
  return lock === 'change' ? sql`FOR UPDATE` : sql`FOR SHARE`;
}
