/**
 * Addresses that must not be mailed, by any path: a customer's own, and the whole installation's (customer 0).
 * This module only knows them; whoever sends asks.
 */
import { sql, type Queryable } from '../../db/database.ts';

export type SuppressionReason = 'bounce' | 'complaint' | 'manual' | 'erased';

/** The customer that stands for the whole installation. */
export const EVERY_CUSTOMER = 0n;

export interface SuppressionEntry {
  readonly customerId: bigint;
  readonly emailKey: string;
  readonly reason: SuppressionReason;
}

/** Suppresses an address from now on; the first reason stays. Answers whether it is new. */
export async function suppress(db: Queryable, { customerId, emailKey, reason }: SuppressionEntry): Promise<boolean> {
  const added = await db.execute(
    sql`INSERT INTO suppression (customer_id, email_key, reason) VALUES (${customerId}, ${emailKey}, ${reason})
        ON CONFLICT DO NOTHING`,
    'audience.suppress',
  );
  return added === 1;
}

/** Whether the customer, or the whole installation, must not mail this address. */
export async function isSuppressed(
  db: Queryable,
  { customerId, emailKey }: { customerId: bigint; emailKey: string },
): Promise<boolean> {
  const rows = await db.query(
    sql`SELECT 1 FROM suppression WHERE customer_id IN (${customerId}, ${EVERY_CUSTOMER}) AND email_key = ${emailKey} LIMIT 1`,
    'audience.is_suppressed',
  );
  return rows.length > 0;
}

/** Takes an address off the customer's list. Answers whether it was on it. */
export async function unsuppress(
  db: Queryable,
  { customerId, emailKey }: { customerId: bigint; emailKey: string },
): Promise<boolean> {
  return (
    (await db.execute(sql`DELETE FROM suppression WHERE customer_id = ${customerId} AND email_key = ${emailKey}`)) > 0
  );
}
