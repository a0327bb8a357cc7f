/** Reads of subscriptions that other parts rely on, such as the one in force. */
import { row, sql, typed, type Queryable, type RowOf, type Sql } from '../../../db/database.ts';

const SUBSCRIPTION_IN_FORCE = row({
  isOperator: 'bool',
  id: 'bigint?',
  isRunning: 'bool?',
  isPending: 'bool?',
  planUid: 'text?',
  planName: 'text?',
  periodStartedAt: 'timestamptz?',
  periodEndsAt: 'timestamptz?',
  isTrial: 'bool',
  options: typed<Record<string, unknown>>('json?'),
});

/**
 * Ends a SELECT on the subscriptions of a customer (with an alias): leaves the one that is in force. The running one, else the
 * last one that ended, else the one that waits for its first payment. One that ended before it was paid for never began.
 */
export function onlyInForce(s: Sql): Sql {
  return sql`AND (${s}.status <> 'ended' OR ${s}.current_period_started_at IS NOT NULL)
     ORDER BY (${s}.status = 'pending'), (${s}.status = 'ended'), ${s}.id DESC LIMIT 1`;
}

/**
 * The subscription that a customer's allowance goes by, with its plan and by the database's clock: the running one, else the last
 * that ended, else the first one, which waits for payment (D55). Its columns are null where there is none; undefined: there is no
 * such customer.
 */
export async function findSubscriptionInForce(
  db: Queryable,
  customerId: bigint,
): Promise<RowOf<typeof SUBSCRIPTION_IN_FORCE> | undefined> {
  const [row] = await db.query(
    SUBSCRIPTION_IN_FORCE,
    sql`
      SELECT c.is_operator AS "isOperator", s.id, p.uid AS "planUid", p.name AS "planName",
             s.status IN ('active', 'cancelled') AND (s.ends_at IS NULL OR s.ends_at > now()) AS "isRunning",
             s.status = 'pending' AS "isPending",
             s.current_period_started_at AS "periodStartedAt", s.current_period_ends_at AS "periodEndsAt",
             coalesce(p.price_minor = 0, false) AS "isTrial", p.options || s.options AS options
        FROM customer c
        LEFT JOIN LATERAL (
          SELECT * FROM subscription s WHERE s.customer_id = c.id ${onlyInForce(sql`s`)}) s ON true
        LEFT JOIN plan p ON p.id = s.plan_id
       WHERE c.id = ${customerId}`,
    'billing.allowance',
  );
  return row;
}
