/** Saved payment methods of customers. */
import { row, sql, type Queryable, type RowOf } from '../../../db/database.ts';

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

const KNOWN_ROW = row({ customerId: 'bigint', id: 'bigint', uid: 'text', sealedData: 'bytea', isRemoved: 'bool' });
export type KnownMethod = RowOf<typeof KNOWN_ROW>;

/** By what recognises it, now or before; also one that was removed: the vendor's answers about old payments name it for weeks. */
export async function findKnown(
  db: Queryable,
  of: { readonly customerId: bigint; readonly gatewayId: bigint; readonly digest: string; readonly former: string },
): Promise<KnownMethod | undefined> {
  const [known] = await db.query(
    KNOWN_ROW,
    sql`
    SELECT m.customer_id AS "customerId", m.id, m.uid, m.sealed_data AS "sealedData", m.removed_at IS NOT NULL AS "isRemoved"
      FROM payment_method m
     WHERE m.customer_id = ${of.customerId} AND m.gateway_id = ${of.gatewayId} AND m.digest IN (${of.digest}, ${of.former})
     ORDER BY m.digest = ${of.digest} DESC LIMIT 1`,
  );
  return known;
}

/** Its card was renewed at the vendor. */
export async function updateMethod(db: Queryable, given: NewMethod & { readonly id: bigint }): Promise<void> {
  await db.execute(sql`
    UPDATE payment_method
       SET title = ${given.title}, info = ${given.info}, sealed_data = ${given.sealedData}, digest = ${given.digest}
     WHERE customer_id = ${given.customerId} AND id = ${given.id} AND removed_at IS NULL`);
}

/** Methods of before are recognised by their id from now on. */
export async function writeDigest(
  db: Queryable,
  { customerId, id }: Pick<StoredMethod, 'customerId' | 'id'>,
  digest: string,
): Promise<void> {
  await db.execute(sql`
    UPDATE payment_method SET digest = ${digest} WHERE customer_id = ${customerId} AND id = ${id} AND digest <> ${digest}`);
}

/** Stores a new one; under the customer's lock. */
export async function insertMethod(db: Queryable, given: NewMethod): Promise<void> {
  await db.execute(sql`
    INSERT INTO payment_method (customer_id, uid, gateway_id, title, info, sealed_data, digest, created_at)
    VALUES (${given.customerId}, ${given.uid}, ${given.gatewayId}, ${given.title}, ${given.info}, ${given.sealedData},
            ${given.digest}, ${given.at})`);
}

/** Those that may be charged, the newest first. */
export function methodsOf(db: Queryable, customerId: bigint): Promise<StoredMethod[]> {
  return db.query(
    METHOD_ROW,
    sql`SELECT ${COLUMNS} FROM payment_method WHERE customer_id = ${customerId} AND removed_at IS NULL ORDER BY id DESC`,
  );
}

/** Those that the vendors still have, also removed ones. */
export function methodsAtVendors(db: Queryable, customerId: bigint): Promise<StoredMethod[]> {
  return db.query(
    METHOD_ROW,
    sql`SELECT ${COLUMNS} FROM payment_method WHERE customer_id = ${customerId} AND sealed_data <> '' ORDER BY id DESC`,
  );
}

export async function findMethod(
  db: Queryable,
  { customerId, id }: { customerId: bigint; id: bigint },
): Promise<StoredMethod | undefined> {
  const [method] = await db.query(
    METHOD_ROW,
    sql`SELECT ${COLUMNS} FROM payment_method WHERE customer_id = ${customerId} AND id = ${id} AND removed_at IS NULL`,
  );
  return method;
}

/** By uid, of any customer; none that was removed. */
export async function findMethodByUid(db: Queryable, uid: string): Promise<StoredMethod | undefined> {
  const [method] = await db.query(
    METHOD_ROW,
    sql`SELECT ${COLUMNS} FROM payment_method WHERE uid = ${uid} AND removed_at IS NULL`,
  );
  return method;
}

/** It is not charged any more; false when it was removed before. */
export async function markRemoved(
  db: Queryable,
  { customerId, id }: Pick<StoredMethod, 'customerId' | 'id'>,
  at: Date,
): Promise<boolean> {
  const marked = await db.execute(sql`
    UPDATE payment_method SET removed_at = ${at} WHERE customer_id = ${customerId} AND id = ${id} AND removed_at IS NULL`);
  return marked === 1;
}

/** One that was removed, and that its vendor still has. */
export async function findRemoved(
  db: Queryable,
  { customerId, uid }: { customerId: bigint; uid: string },
): Promise<StoredMethod | undefined> {
  const [method] = await db.query(
    METHOD_ROW,
    sql`SELECT ${COLUMNS} FROM payment_method
         WHERE customer_id = ${customerId} AND uid = ${uid} AND removed_at IS NOT NULL AND sealed_data <> ''`,
  );
  return method;
}

/** The vendor has deleted it: only what recognises it stays. */
export async function eraseMethodData(
  db: Queryable,
  { customerId, id }: Pick<StoredMethod, 'customerId' | 'id'>,
): Promise<void> {
  await db.execute(sql`
    UPDATE payment_method SET sealed_data = '', title = '', info = ''
     WHERE customer_id = ${customerId} AND id = ${id} AND removed_at IS NOT NULL`);
}

export async function deleteMethod(
  db: Queryable,
  { customerId, id }: Pick<StoredMethod, 'customerId' | 'id'>,
): Promise<void> {
  await db.execute(sql`DELETE FROM payment_method WHERE customer_id = ${customerId} AND id = ${id}`);
}
