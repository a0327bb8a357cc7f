/** Writes of subscriptions and their history, and the reads that the verbs need. */
import { sql, type Queryable, type Sql } from '../../../db/database.ts';
import { nextStepAt, SUBSCRIPTION_ROW, type Subscription } from './subscription.ts';

const COLUMNS = sql`
  s.customer_id AS "customerId", s.id, s.uid, s.plan_id AS "planId", s.status, s.options,
  s.disable_billing AS "disableBilling", s.frequency_amount AS "frequencyAmount", s.frequency_unit AS "frequencyUnit",
  s.anchor_at AS "anchorAt", s.anchor_amount AS "anchorAmount", s.anchor_unit AS "anchorUnit", s.period_no AS "periodNo",
  s.current_period_started_at AS "currentPeriodStartedAt", s.current_period_ends_at AS "currentPeriodEndsAt",
  s.paid_minor AS "paidMinor", s.paid_currency_code AS "paidCurrencyCode", s.grace_ends_at AS "graceEndsAt",
  s.ends_at AS "endsAt", s.created_at AS "createdAt"`;

export interface NewSubscription {
  readonly customerId: bigint;
  readonly uid: string;
  readonly planId: bigint;
  readonly disableBilling: boolean;
  readonly createdAt: Date;
}

/** A new, pending one: `saveSubscription` starts it. */
export async function insertSubscription(db: Queryable, given: NewSubscription): Promise<Subscription> {
  const [row] = await db.query(
    SUBSCRIPTION_ROW,
    sql`
    INSERT INTO subscription AS s (customer_id, uid, plan_id, status, disable_billing, created_at, updated_at)
    VALUES (${given.customerId}, ${given.uid}, ${given.planId}, 'pending', ${given.disableBilling}, ${given.createdAt},
            ${given.createdAt})
    RETURNING ${COLUMNS}`,
  );
  if (!row) throw new Error('An inserted subscription came back empty.');
  return row;
}

/** Writes the whole subscription; the caller has locked its customer. */
export async function saveSubscription(db: Queryable, next: Subscription, at: Date): Promise<Subscription> {
  await db.execute(sql`
    UPDATE subscription
       SET plan_id = ${next.planId}, status = ${next.status}, options = ${JSON.stringify(next.options)}::jsonb,
           disable_billing = ${next.disableBilling}, frequency_amount = ${next.frequencyAmount},
           frequency_unit = ${next.frequencyUnit}, anchor_at = ${next.anchorAt}, anchor_amount = ${next.anchorAmount},
           anchor_unit = ${next.anchorUnit}, period_no = ${next.periodNo},
           current_period_started_at = ${next.currentPeriodStartedAt}, current_period_ends_at = ${next.currentPeriodEndsAt},
           paid_minor = ${next.paidMinor}, paid_currency_code = ${next.paidCurrencyCode},
           grace_ends_at = ${next.graceEndsAt}, ends_at = ${next.endsAt}, next_step_at = ${nextStepAt(next)},
           updated_at = ${at}
     WHERE customer_id = ${next.customerId} AND id = ${next.id}`);
  return next;
}

/** Since when a vendor that may have been paid for it cannot be read; what was noted before it was due counts no more. */
export async function noteVendorUnread(
  db: Queryable,
  { customerId, id }: { customerId: bigint; id: bigint },
  { due, at }: { due: Date; at: Date },
): Promise<Date> {
  const [noted] = await db.query(
    { since: 'timestamptz' },
    sql`
    UPDATE subscription
       SET vendor_unread_since = CASE WHEN vendor_unread_since >= ${due} THEN vendor_unread_since ELSE ${at}::timestamptz END
     WHERE customer_id = ${customerId} AND id = ${id}
    RETURNING vendor_unread_since AS since`,
  );
  return noted?.since ?? at;
}

/** A vendor is asked about it now: others come first next time. */
export async function noteVendorAsked(
  db: Queryable,
  { customerId, id }: { customerId: bigint; id: bigint },
  at: Date,
): Promise<void> {
  await db.execute(
    sql`UPDATE subscription SET vendor_asked_at = ${at} WHERE customer_id = ${customerId} AND id = ${id}`,
  );
}

/** The customer's running subscription. */
export function findRunning(db: Queryable, customerId: bigint): Promise<Subscription | undefined> {
  return findOne(db, sql`s.customer_id = ${customerId} AND s.status IN ('active', 'cancelled')`);
}

/** The customer's subscription that waits for its first payment. */
export function findPending(db: Queryable, customerId: bigint): Promise<Subscription | undefined> {
  return findOne(db, sql`s.customer_id = ${customerId} AND s.status = 'pending'`);
}

export function findSubscription(
  db: Queryable,
  { customerId, id }: { customerId: bigint; id: bigint },
): Promise<Subscription | undefined> {
  return findOne(db, sql`s.customer_id = ${customerId} AND s.id = ${id}`);
}

/** By uid, of any customer. */
export function findSubscriptionByUid(db: Queryable, uid: string): Promise<Subscription | undefined> {
  return findOne(db, sql`s.uid = ${uid}`);
}

/** Subscriptions that are due, in order of time, after those of `after`. */
export async function findDue(
  db: Queryable,
  { at, after, max }: { at: Date; after: { at: Date; id: bigint } | null; max: number },
): Promise<{ customerId: bigint; id: bigint; nextStepAt: Date }[]> {
  const later = after ? sql`AND (next_step_at, id) > (${after.at}, ${after.id})` : sql``;
  return db.query(
    { customerId: 'bigint', id: 'bigint', nextStepAt: 'timestamptz' },
    sql`
    SELECT customer_id AS "customerId", id, next_step_at AS "nextStepAt" FROM subscription s
     WHERE next_step_at <= ${at} ${later}
       AND EXISTS (SELECT 1 FROM customer c WHERE c.id = s.customer_id AND c.status <> 'deleting')
     ORDER BY next_step_at, id LIMIT ${max}`,
  );
}

export interface HistoryRow {
  readonly customerId: bigint;
  readonly subscriptionId: bigint;
  readonly event: string;
  readonly at: Date;
  readonly planUid: string;
  readonly amountMinor: bigint | null;
  readonly currencyCode: string | null;
  readonly invoiceUid: string | null;
  readonly note: string | null;
}

export async function insertHistory(db: Queryable, row: HistoryRow): Promise<void> {
  await db.execute(sql`
    INSERT INTO subscription_event (customer_id, subscription_id, event, at, plan_uid, amount_minor, currency_code,
                                    invoice_uid, note)
    VALUES (${row.customerId}, ${row.subscriptionId}, ${row.event}, ${row.at}, ${row.planUid}, ${row.amountMinor},
            ${row.currencyCode}, ${row.invoiceUid}, ${row.note})`);
}

async function findOne(db: Queryable, where: Sql): Promise<Subscription | undefined> {
  const [row] = await db.query(SUBSCRIPTION_ROW, sql`SELECT ${COLUMNS} FROM subscription s WHERE ${where} LIMIT 1`);
  return row;
}
