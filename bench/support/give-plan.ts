/** A plan for the customer that a bench works with, to see what its limits cost. */
import { parsePlanOptions } from '../../src/domain/billing/plans/plan-options.ts';
import { newUid } from '../../src/lib/ids.ts';

/** Runs a statement, whatever runs it. */
type Run = (text: string, values: readonly unknown[]) => Promise<unknown>;

/** Gives the first customer, with which benches work, a running subscription with these options; the operator's account is limited like any other. */
export async function givePlan(run: Run, options: Readonly<Record<string, number | string>>): Promise<void> {
  await run('UPDATE customer SET is_operator = false WHERE is_operator', []);
  await run(
    `WITH p AS (
       INSERT INTO plan (uid, name, price_minor, currency_code, frequency_amount, frequency_unit, options)
       VALUES ($1, 'Bench', 0, 'EUR', 1, 'month', $2::jsonb) RETURNING id)
     INSERT INTO subscription (customer_id, uid, plan_id, status, current_period_started_at, current_period_ends_at)
     SELECT c.id, $1, p.id, 'active', now(), now() + interval '1 month' FROM customer c, p WHERE c.id = (SELECT min(id) FROM customer)`,
    [newUid(), JSON.stringify(parsePlanOptions({ sending_server_option: 'own', ...options }))],
  );
}
