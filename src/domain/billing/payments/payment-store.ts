/**
 * Writes of payment intents, and the reads that the verbs need. `writeStatus` is for move-intent.ts alone: whoever wants to change a
 * state calls `moveIntent`.
 */
import { sql, type Queryable, type Sql } from '../../../db/database.ts';
import type { Invoice } from '../invoices/invoice-store.ts';
import { PAYMENT_ROW, STATUSES_BEFORE, type Payment, type PaymentStatus } from './payment-intent.ts';

const COLUMNS = sql`
  p.customer_id AS "customerId", p.id, p.uid, p.invoice_id AS "invoiceId", p.method, p.gateway_id AS "gatewayId",
  p.method_id AS "methodId", p.status, p.amount_minor AS "amountMinor", p.currency_code AS "currencyCode", p.reference, p.remote_plan_id AS "remotePlanId",
  p.created_at AS "createdAt", p.decided_at AS "decidedAt", p.charged_at AS "chargedAt", p.cancel_said_at AS "cancelSaidAt", p.synced_at AS "syncedAt",
  p.late_paid_at AS "latePaidAt", p.refunded_minor AS "refundedMinor", p.credited_minor AS "creditedMinor"`;
const IS_OPEN = sql`p.status IN ('PENDING', 'REQUIRES_ACTION', 'AWAITING_ADMIN_APPROVAL')`;

type Key = Pick<Payment, 'customerId' | 'id'>;

export interface NewPayment {
  readonly uid: string;
  /** Type of the gateway. */
  readonly method: string;
  readonly gatewayId: bigint | null;
  readonly methodId?: bigint;
  /** The vendor's plan of the subscription that it begins there. */
  readonly remotePlanId?: string;
  readonly note?: string;
  readonly at: Date;
  readonly nextSyncAt: Date | null;
}

/** An intent in the state PENDING, for the whole amount of the invoice. */
export async function insertPayment(db: Queryable, invoice: Invoice, given: NewPayment): Promise<Payment> {
  const [row] = await db.query(
    PAYMENT_ROW,
    sql`
    INSERT INTO payment_intent AS p (customer_id, uid, invoice_id, method, gateway_id, method_id, status, amount_minor,
                                     currency_code, remote_plan_id, note, next_sync_at, created_at, updated_at)
    VALUES (${invoice.customerId}, ${given.uid}, ${invoice.id}, ${given.method}, ${given.gatewayId}, ${given.methodId ?? null},
            'PENDING', ${invoice.totalMinor}, ${invoice.currencyCode}, ${given.remotePlanId ?? null}, ${given.note ?? ''}, ${given.nextSyncAt}, ${given.at}, ${given.at})
    RETURNING ${COLUMNS}`,
  );
  if (!row) throw new Error('An inserted payment came back empty.');
  return row;
}

export interface StatusChange {
  readonly to: PaymentStatus;
  readonly at: Date;
  /** Uid of the administrator; null: the program. */
  readonly by: string | null;
  readonly reason: string | null;
  readonly decidedAt: Date | null;
  readonly nextSyncAt: Date | null;
}

/** For move-intent.ts alone. From one of the states before it; undefined when the intent is in another one by now. */
export async function writeStatus(
  db: Queryable,
  { customerId, id }: Key,
  change: StatusChange,
): Promise<Payment | undefined> {
  const [row] = await db.query(
    PAYMENT_ROW,
    sql`
    UPDATE payment_intent AS p
       SET status = ${change.to}, decided_at = ${change.decidedAt}, decided_by = ${change.by}, reason = ${change.reason},
           next_sync_at = ${change.nextSyncAt}, updated_at = ${change.at}
     WHERE p.customer_id = ${customerId} AND p.id = ${id} AND p.status = ANY (${[...STATUSES_BEFORE[change.to]]}::text[])
    RETURNING ${COLUMNS}`,
  );
  return row;
}

/** Saves the vendor's id; false when the intent is closed or has another one. */
export async function writeReference(
  db: Queryable,
  { customerId, id }: Key,
  { reference, nextSyncAt }: { reference: string; nextSyncAt: Date | null },
): Promise<boolean> {
  const saved = await db.execute(sql`
    UPDATE payment_intent AS p SET reference = ${reference}, next_sync_at = ${nextSyncAt}, updated_at = now()
     WHERE p.customer_id = ${customerId} AND p.id = ${id} AND ${IS_OPEN}
       AND (p.reference IS NULL OR p.reference = ${reference})`);
  return saved === 1;
}

/** From now on the saved method may have been charged; false when the intent is closed. */
export async function markCharged(db: Queryable, { customerId, id }: Key, at: Date): Promise<boolean> {
  const marked = await db.execute(sql`
    UPDATE payment_intent AS p SET charged_at = coalesce(p.charged_at, ${at}), updated_at = ${at}
     WHERE p.customer_id = ${customerId} AND p.id = ${id} AND ${IS_OPEN}`);
  return marked === 1;
}

/** When the vendor has first said that a charge is cancelled; null: it says something else. */
export async function writeCancelSaid(db: Queryable, { customerId, id }: Key, at: Date | null): Promise<void> {
  await db.execute(sql`
    UPDATE payment_intent SET cancel_said_at = ${at} WHERE customer_id = ${customerId} AND id = ${id}`);
}

export interface SyncNote {
  readonly at: Date;
  readonly nextSyncAt: Date | null;
  /** Why it could not be read, or does not fit. */
  readonly error: string | null;
}

export async function noteSync(
  db: Queryable,
  { customerId, id }: Key,
  { at, nextSyncAt, error }: SyncNote,
): Promise<void> {
  await db.execute(sql`
    UPDATE payment_intent SET synced_at = ${at}, next_sync_at = ${nextSyncAt}, sync_error = ${error}
     WHERE customer_id = ${customerId} AND id = ${id}`);
}

/** An intent that had failed or was cancelled was paid after all; false when that was known. */
export async function markPaidLate(db: Queryable, { customerId, id }: Key, at: Date): Promise<boolean> {
  const marked = await db.execute(sql`
    UPDATE payment_intent SET late_paid_at = ${at}, updated_at = ${at}
     WHERE customer_id = ${customerId} AND id = ${id} AND status IN ('FAILED', 'CANCELLED') AND late_paid_at IS NULL`);
  return marked === 1;
}

/** What was paid back at the vendor, if it is more than was known. */
export async function raiseRefund(
  db: Queryable,
  { customerId, id }: Key,
  { minor, at }: { minor: bigint; at: Date },
): Promise<boolean> {
  const raised = await db.execute(sql`
    UPDATE payment_intent SET refunded_minor = ${minor}, updated_at = ${at}
     WHERE customer_id = ${customerId} AND id = ${id} AND refunded_minor < ${minor}`);
  return raised === 1;
}

/** What of its money is the customer's credit. */
export async function writeCredited(db: Queryable, { customerId, id }: Key, minor: bigint): Promise<void> {
  await db.execute(sql`
    UPDATE payment_intent SET credited_minor = ${minor} WHERE customer_id = ${customerId} AND id = ${id}`);
}

/** The invoice's undecided payment. */
export function findOpenPayment(db: Queryable, invoice: Invoice): Promise<Payment | undefined> {
  return findOne(db, sql`p.customer_id = ${invoice.customerId} AND p.invoice_id = ${invoice.id} AND ${IS_OPEN}`);
}

export function findPayment(db: Queryable, { customerId, id }: Key): Promise<Payment | undefined> {
  return findOne(db, sql`p.customer_id = ${customerId} AND p.id = ${id}`);
}

/** By uid, of any customer. */
export function findPaymentByUid(db: Queryable, uid: string): Promise<Payment | undefined> {
  return findOne(db, sql`p.uid = ${uid}`);
}

/** Payments of an invoice about which a vendor may say something, the newest first. */
export function paymentsToSync(db: Queryable, { customerId, id }: Key, max: number): Promise<Payment[]> {
  return db.query(
    PAYMENT_ROW,
    sql`
    SELECT ${COLUMNS} FROM payment_intent p
     WHERE p.customer_id = ${customerId} AND p.invoice_id = ${id} AND p.next_sync_at IS NOT NULL AND p.reference IS NOT NULL
     ORDER BY p.id DESC LIMIT ${max}`,
  );
}

/** Payments of all customers whose vendor is to be asked now, the oldest first. */
export function duePayments(db: Queryable, at: Date, max: number): Promise<Payment[]> {
  return db.query(
    PAYMENT_ROW,
    sql`
    SELECT ${COLUMNS} FROM payment_intent p
     WHERE p.next_sync_at <= ${at} ORDER BY p.next_sync_at LIMIT ${max}`,
  );
}

/** The customer's payments through gateways that are open, or that the vendor may still take money for. */
export function payableGatewayPayments(db: Queryable, customerId: bigint): Promise<Payment[]> {
  return db.query(
    PAYMENT_ROW,
    sql`
    SELECT ${COLUMNS} FROM payment_intent p
     WHERE p.customer_id = ${customerId} AND p.gateway_id IS NOT NULL
       AND (${IS_OPEN} OR (p.status <> 'SUCCEEDED' AND p.reference IS NOT NULL AND p.next_sync_at IS NOT NULL))
     ORDER BY p.id`,
  );
}

/** By the type of their gateway, or all. */
export async function countPayments(db: Queryable, invoice: Invoice, method?: string): Promise<number> {
  const [row] = await db.query(
    { count: 'int' },
    sql`
    SELECT count(*)::int AS count FROM payment_intent
     WHERE customer_id = ${invoice.customerId} AND invoice_id = ${invoice.id}
       AND (${method ?? null}::text IS NULL OR method = ${method ?? null}::text)`,
  );
  return row?.count ?? 0;
}

/** When a saved method was last declined for this invoice. */
export async function lastDeclineOf(db: Queryable, { customerId, id }: Key): Promise<Date | null> {
  const [row] = await db.query(
    { at: 'timestamptz?' },
    sql`
    SELECT max(decided_at) AS at FROM payment_intent
     WHERE customer_id = ${customerId} AND invoice_id = ${id} AND method_id IS NOT NULL AND status = 'FAILED'`,
  );
  return row?.at ?? null;
}

/**
 * Payments that began a subscription at a vendor, or may have, of which the vendor has shown nothing yet: of a customer, or of a gateway. One
 * that failed began none.
 */
export function unshownPayments(
  db: Queryable,
  of: { readonly customerId: bigint } | { readonly gatewayId: bigint },
): Promise<Payment[]> {
  const whose = 'customerId' in of ? sql`p.customer_id = ${of.customerId}` : sql`p.gateway_id = ${of.gatewayId}`;
  return db.query(
    PAYMENT_ROW,
    sql`
    SELECT ${COLUMNS} FROM payment_intent p
     WHERE ${whose} AND p.gateway_id IS NOT NULL AND p.remote_plan_id IS NOT NULL
       AND (p.status = 'SUCCEEDED' OR p.late_paid_at IS NOT NULL OR (p.charged_at IS NOT NULL AND p.status <> 'FAILED'))
       AND NOT EXISTS (SELECT 1 FROM remote_subscription r WHERE r.customer_id = p.customer_id AND r.intent_uid = p.uid)
     ORDER BY p.id`,
  );
}

async function findOne(db: Queryable, where: Sql): Promise<Payment | undefined> {
  const [row] = await db.query(PAYMENT_ROW, sql`SELECT ${COLUMNS} FROM payment_intent p WHERE ${where} LIMIT 1`);
  return row;
}
