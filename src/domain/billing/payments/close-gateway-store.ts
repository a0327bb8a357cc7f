/** What is left of a payment gateway that is being deleted: reads of its payments and methods, and the end of reading a payment. */
import { row, sql, type Queryable } from '../../../db/database.ts';
import type { StoredGateway } from '../gateways/payment-gateway.ts';
import type { Payment } from './payment-intent.ts';
import type { StoredMethod } from '../saved-methods/payment-method-store.ts';
import { findPayment } from './payment-store.ts';

const KEY_ROW = row({ customerId: 'bigint', id: 'bigint' });
const METHOD_ROW = row({ customerId: 'bigint', id: 'bigint', uid: 'text', gatewayId: 'bigint', sealedData: 'bytea' });

/** Open ones, and those that ended here while the vendor may still take the money; the oldest first. */
export async function paymentsOfGateway(db: Queryable, { id }: StoredGateway, max: number): Promise<Payment[]> {
  const keys = await db.query(
    KEY_ROW,
    sql`
    SELECT customer_id AS "customerId", id FROM payment_intent
     WHERE gateway_id = ${id} AND (status IN ('PENDING', 'REQUIRES_ACTION')
        OR (status IN ('FAILED', 'CANCELLED') AND reference IS NOT NULL AND next_sync_at IS NOT NULL))
     ORDER BY id LIMIT ${max}`,
  );
  const found = await Promise.all(keys.map((key) => findPayment(db, key)));
  return found.filter((payment) => payment !== undefined);
}

/** The vendor has closed it: it is not read any more. */
export async function stopReading(
  db: Queryable,
  { customerId, id }: Pick<Payment, 'customerId' | 'id'>,
): Promise<void> {
  await db.execute(sql`
    UPDATE payment_intent SET next_sync_at = NULL
     WHERE customer_id = ${customerId} AND id = ${id} AND status IN ('FAILED', 'CANCELLED')`);
}

/** Those that the vendor still has. */
export function methodsOfGateway(db: Queryable, { id }: StoredGateway, max: number): Promise<StoredMethod[]> {
  return db.query(
    METHOD_ROW,
    sql`
    SELECT customer_id AS "customerId", id, uid, gateway_id AS "gatewayId", sealed_data AS "sealedData" FROM payment_method
     WHERE gateway_id = ${id} AND sealed_data <> '' ORDER BY id LIMIT ${max}`,
  );
}
