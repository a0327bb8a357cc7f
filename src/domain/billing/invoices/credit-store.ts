/** A customer's credit from unused parts of plans, per currency. The entries add up to the balance. */
import { sql, type Queryable } from '../../../db/database.ts';
import type { Money } from '../money.ts';

/** The customer's balance in this currency. */
export async function readCredit(db: Queryable, customerId: bigint, currencyCode: string): Promise<bigint> {
  const [row] = await db.query(
    { minor: 'bigint' },
    sql`
    SELECT balance_minor AS minor FROM credit_balance
     WHERE customer_id = ${customerId} AND currency_code = ${currencyCode}`,
  );
  return row?.minor ?? 0n;
}

export interface CreditChange {
  readonly customerId: bigint;
  /** A negative amount reduces the balance; the database refuses one below zero. */
  readonly money: Money;
  readonly invoiceUid: string;
  readonly at: Date;
}

/** Adds to the balance, or subtracts from it. */
export async function changeCredit(db: Queryable, { customerId, money, invoiceUid, at }: CreditChange): Promise<void> {
  if (money.minor === 0n) return;
  await db.execute(sql`
    INSERT INTO credit_balance AS b (customer_id, currency_code, balance_minor, updated_at)
    VALUES (${customerId}, ${money.currencyCode}, 0, ${at}) ON CONFLICT DO NOTHING`);
  await db.execute(sql`
    UPDATE credit_balance SET balance_minor = balance_minor + ${money.minor}, updated_at = ${at}
     WHERE customer_id = ${customerId} AND currency_code = ${money.currencyCode}`);
  await db.execute(sql`
    INSERT INTO credit_entry (customer_id, currency_code, amount_minor, invoice_uid, at)
    VALUES (${customerId}, ${money.currencyCode}, ${money.minor}, ${invoiceUid}, ${at})`);
}

/** Every balance of the customer that is not empty. */
export async function readCredits(db: Queryable, customerId: bigint): Promise<Money[]> {
  return db.query(
    { minor: 'bigint', currencyCode: 'text' },
    sql`
    SELECT balance_minor AS minor, currency_code AS "currencyCode" FROM credit_balance
     WHERE customer_id = ${customerId} AND balance_minor > 0 ORDER BY currency_code`,
  );
}
