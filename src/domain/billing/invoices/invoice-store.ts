/** Writes of invoices with their lines, and the reads that the verbs need. */
import { join, sql, row, typed, type Queryable, type Sql, type RowOf } from '../../../db/database.ts';
import type { LineKind } from '../subscriptions/proration.ts';

/** `start` begins a subscription, `renewal` pays its next period, `change` moves it to another plan. */
export type InvoiceKind = 'start' | 'renewal' | 'change';
export type InvoiceStatus = 'pending' | 'paid' | 'void';

export const INVOICE_ROW = row({
  customerId: 'bigint',
  id: 'bigint',
  uid: 'text',
  subscriptionId: 'bigint',
  planId: 'bigint',
  kind: typed<InvoiceKind>('text'),
  status: typed<InvoiceStatus>('text'),
  currencyCode: 'text',
  totalMinor: 'bigint',
  priceMinor: 'bigint',
  creditUsedMinor: 'bigint',
  creditKeptMinor: 'bigint',
  creditKeptCode: 'text?',
  keepsOverrides: 'bool',
  periodStartsAt: 'timestamptz?',
  dueAt: 'timestamptz?',
  createdAt: 'timestamptz',
});
export type Invoice = RowOf<typeof INVOICE_ROW>;

export const INVOICE_COLUMNS = sql`
  i.customer_id AS "customerId", i.id, i.uid, i.subscription_id AS "subscriptionId", i.plan_id AS "planId", i.kind,
  i.status, i.currency_code AS "currencyCode", i.total_minor AS "totalMinor", i.price_minor AS "priceMinor",
  i.credit_used_minor AS "creditUsedMinor", i.credit_kept_minor AS "creditKeptMinor",
  i.credit_kept_code AS "creditKeptCode", i.keeps_overrides AS "keepsOverrides", i.period_starts_at AS "periodStartsAt",
  i.due_at AS "dueAt", i.created_at AS "createdAt"`;

export interface NewInvoice extends Omit<Invoice, 'id' | 'status'> {
  readonly lines: readonly { kind: LineKind; description: string; amountMinor: bigint }[];
}

/** A pending invoice with its lines. */
export async function insertInvoice(db: Queryable, given: NewInvoice): Promise<Invoice> {
  const [row] = await db.query(
    INVOICE_ROW,
    sql`
    INSERT INTO invoice AS i (customer_id, uid, subscription_id, plan_id, kind, status, currency_code, total_minor,
                              price_minor, credit_used_minor, credit_kept_minor, credit_kept_code, keeps_overrides, period_starts_at,
                              due_at, created_at)
    VALUES (${given.customerId}, ${given.uid}, ${given.subscriptionId}, ${given.planId}, ${given.kind}, 'pending',
            ${given.currencyCode}, ${given.totalMinor}, ${given.priceMinor}, ${given.creditUsedMinor},
            ${given.creditKeptMinor}, ${given.creditKeptCode}, ${given.keepsOverrides}, ${given.periodStartsAt}, ${given.dueAt}, ${given.createdAt})
    RETURNING ${INVOICE_COLUMNS}`,
  );
  if (!row) throw new Error('An inserted invoice came back empty.');
  const lines = given.lines.map(
    ({ kind, description, amountMinor }, index) =>
      sql`(${given.customerId}, ${row.id}, ${index + 1}, ${kind}, ${description}, ${amountMinor})`,
  );
  await db.execute(
    sql`INSERT INTO invoice_line (customer_id, invoice_id, no, kind, description, amount_minor) VALUES ${join(lines)}`,
  );
  return row;
}

/** From `pending` to `paid` or `void`; false when it was no longer pending. */
export async function closeInvoice(
  db: Queryable,
  invoice: Invoice,
  { status, at }: { status: 'paid' | 'void'; at: Date },
): Promise<boolean> {
  const stamp = status === 'paid' ? sql`paid_at = ${at}` : sql`voided_at = ${at}`;
  const closed = await db.execute(sql`
    UPDATE invoice SET status = ${status}, ${stamp}, next_charge_at = NULL
     WHERE customer_id = ${invoice.customerId} AND id = ${invoice.id} AND status = 'pending'`);
  return closed === 1;
}

/** The subscription's unpaid invoice. */
export function findPendingInvoice(
  db: Queryable,
  { customerId, id }: { customerId: bigint; id: bigint },
): Promise<Invoice | undefined> {
  return findOne(db, sql`i.customer_id = ${customerId} AND i.subscription_id = ${id} AND i.status = 'pending'`);
}

export function findInvoice(
  db: Queryable,
  { customerId, id }: { customerId: bigint; id: bigint },
): Promise<Invoice | undefined> {
  return findOne(db, sql`i.customer_id = ${customerId} AND i.id = ${id}`);
}

/** By uid, of any customer. */
export function findInvoiceByUid(db: Queryable, uid: string): Promise<Invoice | undefined> {
  return findOne(db, sql`i.uid = ${uid}`);
}

/** Invoices for the customer's changes since then, and the time of the first. */
export async function countInvoicesSince(
  db: Queryable,
  { customerId, since }: { customerId: bigint; since: Date },
): Promise<{ count: number; firstAt: Date | null }> {
  const [row] = await db.query(
    { count: 'int', firstAt: 'timestamptz?' },
    sql`
    SELECT count(*)::int AS count, min(created_at) AS "firstAt" FROM invoice
     WHERE customer_id = ${customerId} AND kind <> 'renewal' AND created_at > ${since}`,
  );
  return row ?? { count: 0, firstAt: null };
}

async function findOne(db: Queryable, where: Sql): Promise<Invoice | undefined> {
  const [row] = await db.query(INVOICE_ROW, sql`SELECT ${INVOICE_COLUMNS} FROM invoice i WHERE ${where} LIMIT 1`);
  return row;
}
