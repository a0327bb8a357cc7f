/** A customer with a plan: what tests of limits stand on. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql, type Queryable } from '../../src/db/database.ts';
import { parsePlanOptions } from '../../src/domain/billing/plans/plan-options.ts';
import { newUid } from '../../src/lib/ids.ts';

/** Of the plan that tests give to customers whom no plan is to limit. No plan that the product makes has this uid. */
const UNLIMITED_PLAN_UID = 'f000000000000';

/**
 * Gives the customer a running subscription without an end whose plan limits nothing: without any subscription nothing can be made
 * (D55). No list of plans shows the plan, because it is a deleted one.
 */
export async function giveUnlimitedPlan(db: Queryable, customerId: bigint): Promise<void> {
  const options = parsePlanOptions({
    sending_server_option: 'own',
    create_email_verification_servers: 'yes',
    max_size_upload_total: '-1',
    max_file_size_upload: '-1',
    access_when_offline: 'no',
  });
  await db.execute(
    sql`INSERT INTO plan (uid, name, status, price_minor, currency_code, frequency_amount, frequency_unit, options)
        VALUES (${UNLIMITED_PLAN_UID}, 'Unlimited', 'deleted', 0, 'EUR', 1, 'month', ${JSON.stringify(options)}::jsonb)
        ON CONFLICT (uid) DO NOTHING`,
  );
  await db.execute(
    sql`INSERT INTO subscription (customer_id, uid, plan_id, status, disable_billing, current_period_started_at)
        SELECT ${customerId}, ${newUid()}, id, 'active', true, now() FROM plan WHERE uid = ${UNLIMITED_PLAN_UID}`,
  );
}

/** Takes it away again: the customer has no subscription. */
export async function takeUnlimitedPlan(db: Queryable, customerId: bigint): Promise<void> {
  await db.execute(
    sql`DELETE FROM subscription WHERE customer_id = ${customerId}
           AND plan_id = (SELECT id FROM plan WHERE uid = ${UNLIMITED_PLAN_UID})`,
  );
}

/** Gives the customer a running subscription of a new plan with these options; the others have their defaults. */
export async function givePlan(
  db: Queryable,
  customerId: bigint,
  options: Readonly<Record<string, unknown>>,
): Promise<{ subscriptionId: bigint }> {
  await takeUnlimitedPlan(db, customerId);
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
export async function changeOptions(
  db: Queryable,
  customerId: bigint,
  options: Readonly<Record<string, unknown>>,
): Promise<void> {
  await db.execute(
    sql`UPDATE subscription SET options = options || ${JSON.stringify(options)}::jsonb, updated_at = now() WHERE customer_id = ${customerId}`,
  );
}

/** Ends the customer's subscription. */
export async function endPlan(db: Queryable, customerId: bigint): Promise<void> {
  await db.execute(sql`UPDATE subscription SET status = 'ended', ends_at = now() WHERE customer_id = ${customerId}`);
}
