/** Who pays what, for the vendor's page. */
import { sql, type Queryable } from '../../../db/database.ts';
import type { Payment } from '../payments/payment-intent.ts';

export async function payerOf(db: Queryable, { customerId, invoiceId }: Payment) {
  const [row] = await db.query(
    { invoiceUid: 'text', planName: 'text', customerUid: 'text', customerName: 'text', customerStatus: 'text' },
    sql`
    SELECT i.uid AS "invoiceUid", p.name AS "planName", c.uid AS "customerUid", c.name AS "customerName",
           c.status AS "customerStatus"
      FROM invoice i JOIN plan p ON p.id = i.plan_id JOIN customer c ON c.id = i.customer_id
     WHERE i.customer_id = ${customerId} AND i.id = ${invoiceId}`,
  );
  if (!row) throw new Error(`Payment of an invoice that is not there: ${invoiceId}.`);
  return row;
}
