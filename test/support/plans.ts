/** A customer with a plan: what tests of limits stand on. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql, type Queryable } from '../../src/db/database.ts';
import { parsePlanOptions } from '../../src/domain/billing/plan-options.ts';
import { newUid } from '../../src/lib/ids.ts';

/** Gives the customer a running subscription of a new plan with these options; the others have their defaults. */
export async function givePlan(
  db: Queryable,
  customerId: bigint,
  options: Readonly<Record<string, unknown>>,
): Promise<{ subscriptionId: bigint }> {
  const [plan] = await queryRows<{ id: bigint }>(
    db,
    sql`INSERT INTO plan (uid, name, price_minor, currency_code, frequency_amount, frequency_unit, options)
        VALUES (${newUid()}, 'Test plan', 1000, 'EUR', 1, 'month', ${JSON.stringify(parsePlanOptions(options))}::jsonb) RETURNING id`,
  );
  const [row] = await queryRows<{ id: bigint }>(
    db,
    sql`INSERT INTO subscription (customer_id, uid, plan_id, status, current_period_started_at, current_period_ends_at)
        VALUES (${customerId}, ${newUid()}, ${plan?.id}, 'active', now(), now() + interval '1 month') RETURNING id`,
  );
  if (!row) throw new Error('No subscription was made.');
  return { subscriptionId: row.id };
}

/** Changes options of the customer's subscription. */
export async function changeOptions(db: Queryable, customerId: bigint, options: Record<string, string>): Promise<void> {
  await db.execute(
    sql`UPDATE subscription SET options = options || ${JSON.stringify(options)}::jsonb, updated_at = now() WHERE customer_id = ${customerId}`,
  );
}

/** Ends the customer's subscription. */
export async function endPlan(db: Queryable, customerId: bigint): Promise<void> {
  await db.execute(sql`UPDATE subscription SET status = 'ended', ends_at = now() WHERE customer_id = ${customerId}`);
}
