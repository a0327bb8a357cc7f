/** What the page of an invoice shows. */
import { row, sql, typed, type Queryable, type RowOf } from '../../../db/database.ts';
import type { InvoiceStatus } from './invoice-store.ts';
import type { PaymentStatus } from '../payments/payment-intent.ts';

interface LatestPayment {
  /** Type of its gateway. */
  readonly method: string;
  /** The vendor has an object for it. */
  readonly isBegun: boolean;
  /** The money may be moving: see `isCharging`. */
  readonly isCharging: boolean;
  readonly status: PaymentStatus;
  readonly reason: string | null;
}

const CHECKOUT_ROW = row({
  customerId: 'bigint',
  uid: 'text',
  customerName: 'text',
  customerStatus: 'text',
  planName: 'text',
  status: typed<InvoiceStatus>('text'),
  currencyCode: 'text',
  totalMinor: 'bigint',
  dueAt: 'timestamptz?',
  paidAt: 'timestamptz?',
  /** Amounts as texts: JSON has no whole numbers of this size. */
  lines: typed<readonly { readonly description: string; readonly amountMinor: string }[]>('json'),
  payment: typed<LatestPayment>('json?'),
});
export type CheckoutInvoice = RowOf<typeof CHECKOUT_ROW>;

/** The invoice with its lines and its latest payment. */
export async function findCheckoutInvoice(db: Queryable, uid: string): Promise<CheckoutInvoice | undefined> {
  const [invoice] = await db.query(
    CHECKOUT_ROW,
    sql`
    SELECT i.customer_id AS "customerId", i.uid, c.name AS "customerName", c.status AS "customerStatus", p.name AS "planName",
           i.status, i.currency_code AS "currencyCode", i.total_minor AS "totalMinor", i.due_at AS "dueAt", i.paid_at AS "paidAt",
           (SELECT coalesce(jsonb_agg(jsonb_build_object('description', l.description, 'amountMinor', l.amount_minor::text) ORDER BY l.no), '[]')
              FROM invoice_line l WHERE l.customer_id = i.customer_id AND l.invoice_id = i.id) AS lines,
           (SELECT jsonb_build_object('method', t.method, 'isBegun', t.reference IS NOT NULL,
                                     'isCharging', t.status = 'PENDING' AND t.charged_at IS NOT NULL, 'status', t.status, 'reason', t.reason)
              FROM payment_intent t WHERE t.customer_id = i.customer_id AND t.invoice_id = i.id
             ORDER BY t.id DESC LIMIT 1) AS payment
      FROM invoice i JOIN customer c ON c.id = i.customer_id JOIN plan p ON p.id = i.plan_id
     WHERE i.uid = ${uid} LIMIT 1`,
    'billing.checkout',
  );
  return invoice;
}
