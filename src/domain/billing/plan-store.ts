/** Writes of plans, and the reads that the verbs need. */
import { join, sql, type Queryable, type Sql } from '../../db/database.ts';
import type { PlanOptions } from './plan-options.ts';
import type { Plan, PlanStatus } from './plan.ts';

export const PLAN_COLUMNS = sql`
  p.id, p.uid, p.name, p.price_minor AS "priceMinor", p.currency_code AS "currencyCode",
  p.frequency_amount AS "frequencyAmount", p.frequency_unit AS "frequencyUnit", p.color, p.status,
  p.custom_order AS "customOrder", p.options`;

export interface PlanChanges {
  readonly name?: string | undefined;
  readonly priceMinor?: bigint | undefined;
  readonly currencyCode?: string | undefined;
  readonly frequencyAmount?: number | undefined;
  readonly frequencyUnit?: string | undefined;
  readonly color?: string | null | undefined;
  readonly customOrder?: number | null | undefined;
  readonly status?: PlanStatus | undefined;
  readonly options?: PlanOptions | undefined;
}

export type NewPlan = Required<Omit<PlanChanges, 'status'>> & { readonly uid: string };

/** A plan that comes without a place goes behind the others. */
export async function insertPlan(db: Queryable, plan: NewPlan): Promise<Plan> {
  const [row] = await db.query<Plan>(sql`
    INSERT INTO plan AS p (uid, name, price_minor, currency_code, frequency_amount, frequency_unit, color, custom_order, options)
    SELECT ${plan.uid}, ${plan.name}, ${plan.priceMinor}, ${plan.currencyCode}, ${plan.frequencyAmount},
           ${plan.frequencyUnit}, ${plan.color},
           coalesce(${plan.customOrder}::int, (SELECT coalesce(max(custom_order), 0) + 1 FROM plan)),
           ${JSON.stringify(plan.options)}::jsonb
    RETURNING ${PLAN_COLUMNS}`);
  if (!row) throw new Error('An inserted plan came back empty.');
  return row;
}

/** Writes what is given and leaves the rest. */
export async function updatePlanRow(db: Queryable, plan: Plan, changes: PlanChanges): Promise<void> {
  const assignments: Sql[] = [sql`updated_at = now()`];
  if (changes.name !== undefined) assignments.push(sql`name = ${changes.name}`);
  if (changes.priceMinor !== undefined) assignments.push(sql`price_minor = ${changes.priceMinor}`);
  if (changes.currencyCode !== undefined) assignments.push(sql`currency_code = ${changes.currencyCode}`);
  if (changes.frequencyAmount !== undefined) assignments.push(sql`frequency_amount = ${changes.frequencyAmount}`);
  if (changes.frequencyUnit !== undefined) assignments.push(sql`frequency_unit = ${changes.frequencyUnit}`);
  if (changes.color !== undefined) assignments.push(sql`color = ${changes.color}`);
  if (changes.customOrder !== undefined) assignments.push(sql`custom_order = ${changes.customOrder}`);
  if (changes.status !== undefined) assignments.push(sql`status = ${changes.status}`);
  if (changes.options !== undefined) assignments.push(sql`options = ${JSON.stringify(changes.options)}::jsonb`);
  await db.execute(sql`UPDATE plan SET ${join(assignments)} WHERE id = ${plan.id}`);
}

/** `change` keeps others from reading it for a subscription meanwhile, `use` from changing or deleting it. */
export type PlanLock = 'change' | 'use';

/** The plan with this uid, unless it was deleted. */
export async function findPlan(db: Queryable, uid: string, lock?: PlanLock): Promise<Plan | undefined> {
  const [row] = await db.query<Plan>(
    sql`SELECT ${PLAN_COLUMNS} FROM plan p WHERE p.uid = ${uid} AND p.status <> 'deleted' ${lockClause(lock)}`,
  );
  return row;
}

/** A plan that something refers to: deleted ones too. */
export async function planById(db: Queryable, id: bigint): Promise<Plan> {
  const [row] = await db.query<Plan>(sql`SELECT ${PLAN_COLUMNS} FROM plan p WHERE p.id = ${id}`);
  if (!row) throw new Error(`Plan ${id} is referred to, but not there.`);
  return row;
}

/** Whether the customer has, or had, a subscription to it. */
export async function isPlanOf(db: Queryable, plan: Plan, customerId: bigint): Promise<boolean> {
  const rows = await db.query(
    sql`SELECT 1 FROM subscription WHERE customer_id = ${customerId} AND plan_id = ${plan.id} LIMIT 1`,
  );
  return rows.length > 0;
}

export async function countPlans(db: Queryable): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    sql`SELECT count(*)::int AS count FROM plan WHERE status <> 'deleted'`,
  );
  return row?.count ?? 0;
}

/** Subscriptions that are running or wait for payment. */
export async function countLiveSubscriptions(db: Queryable, plan: Plan): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    sql`SELECT count(*)::int AS count FROM subscription WHERE plan_id = ${plan.id} AND status <> 'ended'`,
  );
  return row?.count ?? 0;
}

/** Takes the plan away; one that something remembers is kept out of sight. */
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
