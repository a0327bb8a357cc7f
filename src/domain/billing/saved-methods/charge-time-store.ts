/** Writes of the times at which invoices are charged again after a decline, and the reads that belong to them. */
import { sql, type Queryable } from '../../../db/database.ts';
import { INVOICE_COLUMNS, INVOICE_ROW, type Invoice } from '../invoices/invoice-store.ts';

/** When a saved method is charged for it again; false when it is no longer pending. */
export async function writeNextCharge(
  db: Queryable,
  { customerId, id }: Pick<Invoice, 'customerId' | 'id'>,
  at: Date | null,
): Promise<boolean> {
  const written = await db.execute(sql`
    UPDATE invoice SET next_charge_at = ${at} WHERE customer_id = ${customerId} AND id = ${id} AND status = 'pending'`);
  return written === 1;
}

/** A saved method is new: renewals that one was declined for are charged at this time. */
export async function chargeDeclinedAt(db: Queryable, customerId: bigint, at: Date): Promise<void> {
  await db.execute(sql`
    UPDATE invoice i SET next_charge_at = ${at}
     WHERE i.customer_id = ${customerId} AND i.status = 'pending' AND i.kind = 'renewal'
       AND EXISTS (SELECT 1 FROM payment_intent p WHERE p.customer_id = i.customer_id AND p.invoice_id = i.id
                      AND p.method_id IS NOT NULL AND p.status = 'FAILED')`);
}

/** A saved method was removed: what it was declined for is not charged again, unless the customer has another one, which is charged then. */
export async function stopTriesOf(
  db: Queryable,
  { customerId, id }: { readonly customerId: bigint; readonly id: bigint },
): Promise<void> {
  await db.execute(sql`
    UPDATE invoice i SET next_charge_at = NULL
     WHERE i.customer_id = ${customerId} AND i.status = 'pending' AND i.next_charge_at IS NOT NULL
       AND ${id} = (SELECT p.method_id FROM payment_intent p WHERE p.customer_id = i.customer_id AND p.invoice_id = i.id
                       AND p.method_id IS NOT NULL ORDER BY p.id DESC LIMIT 1)
       AND NOT EXISTS (SELECT 1 FROM payment_method m WHERE m.customer_id = i.customer_id AND m.removed_at IS NULL)`);
}

/** The invoice, if its time to be charged again has come; that time is taken from it, so that nobody else charges it. */
export async function takeDueCharge(
  db: Queryable,
  { customerId, id }: Pick<Invoice, 'customerId' | 'id'>,
  at: Date,
): Promise<Invoice | undefined> {
  const [row] = await db.query(
    INVOICE_ROW,
    sql`
    UPDATE invoice i SET next_charge_at = NULL
     WHERE i.customer_id = ${customerId} AND i.id = ${id} AND i.status = 'pending' AND i.next_charge_at <= ${at}
    RETURNING ${INVOICE_COLUMNS}`,
  );
  return row;
}

/** Invoices of all customers that are to be charged again now, by id. */
export function dueCharges(
  db: Queryable,
  { at, after, max }: { at: Date; after: bigint; max: number },
): Promise<{ customerId: bigint; id: bigint }[]> {
  return db.query(
    { customerId: 'bigint', id: 'bigint' },
    sql`
    SELECT customer_id AS "customerId", id FROM invoice
     WHERE next_charge_at <= ${at} AND status = 'pending' AND id > ${after} ORDER BY id LIMIT ${max}`,
  );
}
