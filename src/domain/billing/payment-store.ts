/**
 * Writes of payment intents (specification 3.6): one try to pay an invoice. `offline` is the built-in method: the customer claims
 * that it paid, an administrator checks the bank account and approves or rejects.
 */
import { sql, row, typed, type Queryable, type Sql, type RowOf } from '../../db/database.ts';
import type { Invoice } from './invoice-store.ts';

export const paymentStatuses = [
  'PENDING',
  'REQUIRES_ACTION',
  'AWAITING_ADMIN_APPROVAL',
  'SUCCEEDED',
  'FAILED',
  'CANCELLED',
] as const;
export type PaymentStatus = (typeof paymentStatuses)[number];

const PAYMENT_ROW = row({
  customerId: 'bigint',
  id: 'bigint',
  uid: 'text',
  invoiceId: 'bigint',
  status: typed<PaymentStatus>('text'),
});
export type Payment = RowOf<typeof PAYMENT_ROW>;

const COLUMNS = sql`p.customer_id AS "customerId", p.id, p.uid, p.invoice_id AS "invoiceId", p.status`;
const IS_OPEN = sql`p.status IN ('PENDING', 'REQUIRES_ACTION', 'AWAITING_ADMIN_APPROVAL')`;

/** Who decided it, and the reason. */
export interface Decision {
  readonly status: 'SUCCEEDED' | 'FAILED' | 'CANCELLED';
  readonly at: Date;
  /** Uid of the administrator; null: the program. */
  readonly by: string | null;
  readonly reason: string | null;
}

export async function insertPayment(
  db: Queryable,
  invoice: Invoice,
  given: { uid: string; status: PaymentStatus; note: string; at: Date },
): Promise<Payment> {
  const [row] = await db.query(
    PAYMENT_ROW,
    sql`
    INSERT INTO payment_intent AS p (customer_id, uid, invoice_id, method, status, amount_minor, currency_code, note,
                                     created_at, updated_at)
    VALUES (${invoice.customerId}, ${given.uid}, ${invoice.id}, 'offline', ${given.status}, ${invoice.totalMinor},
            ${invoice.currencyCode}, ${given.note}, ${given.at}, ${given.at})
    RETURNING ${COLUMNS}`,
  );
  if (!row) throw new Error('An inserted payment came back empty.');
  return row;
}

/** Decides an open payment; false when it was decided before. */
export async function closePayment(db: Queryable, payment: Payment, decision: Decision): Promise<boolean> {
  const closed = await db.execute(sql`
    UPDATE payment_intent AS p
       SET status = ${decision.status}, decided_at = ${decision.at}, decided_by = ${decision.by},
           reason = ${decision.reason}, updated_at = ${decision.at}
     WHERE p.customer_id = ${payment.customerId} AND p.id = ${payment.id} AND ${IS_OPEN}`);
  return closed === 1;
}

/** The invoice's undecided payment. */
export function findOpenPayment(db: Queryable, invoice: Invoice): Promise<Payment | undefined> {
  return findOne(db, sql`p.customer_id = ${invoice.customerId} AND p.invoice_id = ${invoice.id} AND ${IS_OPEN}`);
}

/** By uid, of any customer. */
export function findPaymentByUid(db: Queryable, uid: string): Promise<Payment | undefined> {
  return findOne(db, sql`p.uid = ${uid}`);
}

export async function countPayments(db: Queryable, invoice: Invoice): Promise<number> {
  const [row] = await db.query(
    { count: 'int' },
    sql`
    SELECT count(*)::int AS count FROM payment_intent
     WHERE customer_id = ${invoice.customerId} AND invoice_id = ${invoice.id}`,
  );
  return row?.count ?? 0;
}

async function findOne(db: Queryable, where: Sql): Promise<Payment | undefined> {
  const [row] = await db.query(PAYMENT_ROW, sql`SELECT ${COLUMNS} FROM payment_intent p WHERE ${where} LIMIT 1`);
  return row;
}
