/** What the mail about a charge of a saved method says, and to whom. */
import { row, sql, typed, type Queryable, type RowOf } from '../../../db/database.ts';
import type { InvoiceStatus } from '../invoices/invoice-store.ts';
import type { PaymentStatus } from '../payments/payment-intent.ts';

const CHARGE_ROW = row({
  uid: 'text',
  status: typed<PaymentStatus>('text'),
  reason: 'text?',
  amountMinor: 'bigint',
  currencyCode: 'text',
  /** Of the saved method; null: it is not there any more. */
  methodTitle: 'text?',
  methodInfo: 'text?',
  invoiceUid: 'text',
  invoiceStatus: typed<InvoiceStatus>('text'),
  nextChargeAt: 'timestamptz?',
  dueAt: 'timestamptz?',
  planName: 'text',
  customerStatus: 'text',
  /** Whether a later payment of the invoice was begun: what this one led to is known by then. */
  isOutdated: 'bool',
});
export type TriedCharge = RowOf<typeof CHARGE_ROW>;

/** A charge of a saved method by its uid; undefined for other payments. */
export async function findTriedCharge(
  db: Queryable,
  { customerId, uid }: { customerId: bigint; uid: string },
): Promise<TriedCharge | undefined> {
  const [charge] = await db.query(
    CHARGE_ROW,
    sql`
    SELECT p.uid, p.status, p.reason, p.amount_minor AS "amountMinor", p.currency_code AS "currencyCode",
           m.title AS "methodTitle", m.info AS "methodInfo", i.uid AS "invoiceUid", i.status AS "invoiceStatus",
           i.next_charge_at AS "nextChargeAt", i.due_at AS "dueAt", l.name AS "planName", c.status AS "customerStatus",
           EXISTS (SELECT 1 FROM payment_intent o
                    WHERE o.customer_id = p.customer_id AND o.invoice_id = p.invoice_id AND o.id > p.id) AS "isOutdated"
      FROM payment_intent p
      JOIN invoice i ON i.customer_id = p.customer_id AND i.id = p.invoice_id
      JOIN plan l ON l.id = i.plan_id
      JOIN customer c ON c.id = p.customer_id
      LEFT JOIN payment_method m ON m.customer_id = p.customer_id AND m.id = p.method_id AND m.removed_at IS NULL
     WHERE p.customer_id = ${customerId} AND p.uid = ${uid} AND p.method_id IS NOT NULL`,
  );
  return charge;
}

/** Addresses of the customer's users who can log in. */
export async function peopleOfCustomer(db: Queryable, customerId: bigint, max: number): Promise<string[]> {
  const people = await db.query(
    { email: 'text' },
    sql`SELECT email FROM app_user WHERE customer_id = ${customerId} AND status = 'active' ORDER BY id LIMIT ${max}`,
  );
  return people.map(({ email }) => email);
}
