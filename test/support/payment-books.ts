/** What must be true of a customer's invoices, payments, plans and credit at any moment, as statements that find what is not. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql, type Queryable } from '../../src/db/database.ts';

/** The faults in a customer's books; none: they agree. */
export async function faultsInBooks(db: Pick<Queryable, 'query'>, customerId: bigint): Promise<string[]> {
  const rows = await queryRows<{ fault: string }>(
    db,
    sql`
    SELECT 'an invoice paid twice by hand' AS fault FROM payment_intent p WHERE p.customer_id = ${customerId} AND p.status = 'SUCCEEDED' AND p.method = 'offline'
     GROUP BY p.invoice_id HAVING count(*) > 1
    UNION ALL SELECT 'two open tries' FROM payment_intent p WHERE p.customer_id = ${customerId}
       AND p.status IN ('PENDING', 'REQUIRES_ACTION', 'AWAITING_ADMIN_APPROVAL') GROUP BY p.invoice_id HAVING count(*) > 1
    UNION ALL SELECT 'a payment without its invoice' FROM payment_intent p JOIN invoice i ON i.customer_id = p.customer_id AND i.id = p.invoice_id
     WHERE p.customer_id = ${customerId} AND p.status = 'SUCCEEDED' AND i.status <> 'paid' AND p.refunded_minor = 0
    UNION ALL SELECT 'an invoice paid by nobody' FROM invoice i WHERE i.customer_id = ${customerId} AND i.status = 'paid' AND i.total_minor > 0
       AND NOT EXISTS (SELECT 1 FROM payment_intent p WHERE p.customer_id = i.customer_id AND p.invoice_id = i.id
                          AND (p.status = 'SUCCEEDED' OR p.late_paid_at IS NOT NULL))
    UNION ALL SELECT 'two pending invoices' FROM invoice i WHERE i.customer_id = ${customerId} AND i.status = 'pending'
     GROUP BY i.subscription_id HAVING count(*) > 1
    UNION ALL SELECT 'a period renewed twice' FROM subscription_event e WHERE e.customer_id = ${customerId} AND e.event = 'renewed' AND e.invoice_uid IS NOT NULL
     GROUP BY e.invoice_uid HAVING count(*) > 1
    UNION ALL SELECT 'a renewal that was paid and has no effect' FROM invoice i WHERE i.customer_id = ${customerId} AND i.kind = 'renewal' AND i.status = 'paid'
       AND NOT EXISTS (SELECT 1 FROM subscription_event e WHERE e.customer_id = i.customer_id AND e.event = 'renewed' AND e.invoice_uid = i.uid)
    UNION ALL SELECT 'another plan than was paid last' FROM subscription s
     WHERE s.customer_id = ${customerId} AND s.status IN ('active', 'cancelled') AND s.plan_id <> (
       SELECT i.plan_id FROM invoice i WHERE i.customer_id = ${customerId} AND i.subscription_id = s.id AND i.status = 'paid'
        ORDER BY i.paid_at DESC, i.id DESC LIMIT 1)
    UNION ALL SELECT 'credit without its entries' FROM credit_balance b WHERE customer_id = ${customerId} AND balance_minor <> (
       SELECT coalesce(sum(amount_minor), 0) FROM credit_entry e
        WHERE e.customer_id = b.customer_id AND e.currency_code = b.currency_code)`,
  );
  return rows.map(({ fault }) => fault);
}

export interface Totals {
  /** By invoices that are paid. */
  readonly paid: bigint;
  /** By money that came for an invoice that was closed. */
  readonly credited: bigint;
  /** Recorded by hand. */
  readonly offline: bigint;
  /** Paid back at vendors, by the intents and by the history. */
  readonly refunded: bigint;
  readonly refundsShown: bigint;
}

export async function totalsOf(db: Pick<Queryable, 'query'>, customerId: bigint): Promise<Totals> {
  const [row] = await queryRows<Totals>(
    db,
    sql`
    SELECT (SELECT coalesce(sum(total_minor), 0)::bigint FROM invoice WHERE customer_id = ${customerId} AND status = 'paid') AS paid,
           (SELECT coalesce(sum(amount_minor), 0)::bigint FROM subscription_event
             WHERE customer_id = ${customerId} AND event = 'payment_credited') AS credited,
           (SELECT coalesce(sum(amount_minor), 0)::bigint FROM payment_intent
             WHERE customer_id = ${customerId} AND method = 'offline' AND status = 'SUCCEEDED') AS offline,
           (SELECT coalesce(sum(refunded_minor), 0)::bigint FROM payment_intent WHERE customer_id = ${customerId}) AS refunded,
           (SELECT coalesce(sum(amount_minor), 0)::bigint FROM subscription_event
             WHERE customer_id = ${customerId} AND event = 'payment_refunded') AS "refundsShown"`,
  );
  if (!row) throw new Error('There are no sums.');
  return row;
}
