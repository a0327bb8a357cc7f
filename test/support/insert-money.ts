/** A tenant's plan, subscription and invoice, straight into the tables, for the tests that walk everything. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { parsePlanOptions } from '../../src/domain/billing/plans/plan-options.ts';
import { sql, type Queryable } from '../../src/db/database.ts';
import { newUid } from '../../src/lib/ids.ts';
import { takeUnlimitedPlan } from './plans.ts';

export interface MoneyUids {
  /** A plan that nobody has. */
  readonly planUid: string;
  /** Of a plan that limits nothing; its renewal is due. */
  readonly subscriptionUid: string;
  /** Of that renewal. */
  readonly invoiceUid: string;
  /** A try to pay it that was rejected. */
  readonly paymentUid: string;
  readonly gatewayUid: string;
  readonly methodUid: string;
}

/** Nothing that a plan may limit is limited, so that every other noun can be walked. */
const UNLIMITED = {
  sending_server_option: 'own',
  create_email_verification_servers: 'yes',
  max_size_upload_total: '-1',
  max_file_size_upload: '-1',
};

/**
 * A running subscription whose renewal is due, with its invoice and a try to pay it that was rejected: a state that
 * most acts are allowed in. The plan beside it is nobody's.
 */
export async function insertMoney(db: Queryable, customerId: bigint): Promise<MoneyUids> {
  await takeUnlimitedPlan(db, customerId);
  const own = await planId(db, { name: 'Present plan', unused: false });
  const next = await planId(db, { name: 'Next plan', unused: true });
  const uids = { subscriptionUid: newUid(), invoiceUid: newUid(), paymentUid: newUid() };
  await db.execute(sql`
    WITH s AS (
      INSERT INTO subscription (customer_id, uid, plan_id, status, anchor_at, anchor_amount, anchor_unit, period_no,
                                current_period_started_at, current_period_ends_at, paid_minor, paid_currency_code,
                                grace_ends_at, next_step_at)
      VALUES (${customerId}, ${uids.subscriptionUid}, ${own.id}, 'active', now() - interval '32 days', 1, 'month', 1,
              now() - interval '32 days', now() - interval '1 day', 1000, 'EUR', now() + interval '6 days',
              now() + interval '6 days') RETURNING id
    ), i AS (
      INSERT INTO invoice (customer_id, uid, subscription_id, plan_id, kind, status, currency_code, total_minor,
                           price_minor, period_starts_at, due_at)
      SELECT ${customerId}, ${uids.invoiceUid}, s.id, ${own.id}, 'renewal', 'pending', 'EUR', 1000, 1000,
             now() - interval '1 day', now() + interval '6 days' FROM s RETURNING id
    ), l AS (
      INSERT INTO invoice_line (customer_id, invoice_id, no, description, amount_minor)
      SELECT ${customerId}, i.id, 1, 'Present plan', 1000 FROM i
    )
    INSERT INTO payment_intent (customer_id, uid, invoice_id, method, status, amount_minor, currency_code, decided_at)
    SELECT ${customerId}, ${uids.paymentUid}, i.id, 'offline', 'FAILED', 1000, 'EUR', now() FROM i`);
  const [gatewayUid, methodUid] = [newUid(), newUid()];
  await db.execute(
    sql`DELETE FROM payment_gateway WHERE name = 'World bank' AND id < (SELECT max(id) - 50 FROM payment_gateway)`,
  );
  await db.execute(sql`INSERT INTO payment_gateway (uid, type, name) VALUES (${gatewayUid}, 'offline', 'World bank')`);
  await db.execute(
    sql`INSERT INTO payment_method (customer_id, uid, gateway_id, title, info, sealed_data, digest)
        SELECT ${customerId}, ${methodUid}, g.id, 'Visa', 'ends in 4242', '\\x00', ${methodUid} FROM payment_gateway g WHERE g.uid = ${gatewayUid}`,
  );
  return { ...uids, planUid: next.uid, gatewayUid, methodUid };
}

/** An active plan of this name; made when there is none (or none that is unused). There may be a thousand at most. */
async function planId(
  db: Queryable,
  { name, unused }: { name: string; unused: boolean },
): Promise<{ id: bigint; uid: string }> {
  const free = unused ? sql`AND NOT EXISTS (SELECT 1 FROM subscription s WHERE s.plan_id = p.id)` : sql``;
  const [known] = await queryRows<{ id: bigint; uid: string }>(
    db,
    sql`SELECT id, uid FROM plan p WHERE name = ${name} AND status = 'active' ${free} ORDER BY id DESC LIMIT 1`,
  );
  if (known) return known;
  const [row] = await queryRows<{ id: bigint; uid: string }>(
    db,
    sql`
    INSERT INTO plan (uid, name, price_minor, currency_code, frequency_amount, frequency_unit, options)
    VALUES (${newUid()}, ${name}, 1000, 'EUR', 1, 'month', ${JSON.stringify(parsePlanOptions(UNLIMITED))}::jsonb) RETURNING id, uid`,
  );
  if (!row) throw new Error('No plan was made.');
  return row;
}
