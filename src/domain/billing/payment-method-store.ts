/** Saved payment methods of customers. */
import { row, sql, type Queryable, type RowOf } from '../../db/database.ts';

const METHOD_ROW = row({
  customerId: 'bigint',
  id: 'bigint',
  uid: 'text',
  gatewayId: 'bigint',
  sealedData: 'bytea',
});
export type StoredMethod = RowOf<typeof METHOD_ROW>;

const COLUMNS = sql`customer_id AS "customerId", id, uid, gateway_id AS "gatewayId", sealed_data AS "sealedData"`;

export interface NewMethod extends Omit<StoredMethod, 'id'> {
  readonly title: string;
  readonly info: string;
  readonly digest: string;
  readonly at: Date;
}

/** Stores it; false when it is there. */
export async function insertMethod(db: Queryable, given: NewMethod): Promise<boolean> {
  const inserted = await db.execute(sql`
    INSERT INTO payment_method (customer_id, uid, gateway_id, title, info, sealed_data, digest, created_at)
    VALUES (${given.customerId}, ${given.uid}, ${given.gatewayId}, ${given.title}, ${given.info}, ${given.sealedData},
            ${given.digest}, ${given.at})
    ON CONFLICT (customer_id, gateway_id, digest) DO NOTHING`);
  return inserted === 1;
}

/** The newest first. */
export function methodsOf(db: Queryable, customerId: bigint): Promise<StoredMethod[]> {
  return db.query(
    METHOD_ROW,
    sql`SELECT ${COLUMNS} FROM payment_method WHERE customer_id = ${customerId} ORDER BY id DESC`,
  );
}

export async function findMethod(
  db: Queryable,
  { customerId, id }: { customerId: bigint; id: bigint },
): Promise<StoredMethod | undefined> {
  const [method] = await db.query(
    METHOD_ROW,
    sql`SELECT ${COLUMNS} FROM payment_method WHERE customer_id = ${customerId} AND id = ${id}`,
  );
  return method;
}

export async function deleteMethod(
  db: Queryable,
  { customerId, id }: Pick<StoredMethod, 'customerId' | 'id'>,
): Promise<void> {
  await db.execute(sql`DELETE FROM payment_method WHERE customer_id = ${customerId} AND id = ${id}`);
}
