/** Rows of senders' addresses. */
import { sql, type Queryable, type Sql } from '../../../db/database.ts';
import { lockUntilCommit } from '../../../db/lock.ts';
import { emailKey, isEmailAddress } from '../../../lib/text.ts';
import { FROM_ADDRESS_ROW, type FromAddress } from './from-address.ts';

const COLUMNS = sql`customer_id AS "customerId", id, uid, email, verified_at AS "verifiedAt"`;

interface AddressId {
  readonly customerId: bigint;
  readonly id: bigint;
}

/** Whether this address is a verified one of the customer. */
export async function isVerifiedAddress(
  db: Queryable,
  { customerId, email }: { customerId: bigint; email: string },
): Promise<boolean> {
  if (!isEmailAddress(email)) return false;
  const rows = await db.execute(
    sql`SELECT 1 FROM from_address WHERE customer_id = ${customerId} AND email_key = ${emailKey(email)} AND verified_at IS NOT NULL`,
    'sending.is-verified-address',
  );
  return rows > 0;
}

/** The customer's row of the address, made if there is none. */
export async function keepAddress(
  db: Queryable,
  address: { customerId: bigint; uid: string; email: string },
): Promise<FromAddress> {
  const [row] = await db.query(
    FROM_ADDRESS_ROW,
    sql`
    INSERT INTO from_address (customer_id, uid, email, email_key)
    VALUES (${address.customerId}, ${address.uid}, ${address.email}, ${emailKey(address.email)})
    ON CONFLICT (customer_id, email_key) DO UPDATE SET updated_at = now() RETURNING ${COLUMNS}`,
  );
  if (!row) throw new Error('An inserted address came back empty.');
  return row;
}

/** Records that a mail is sent. */
export async function noteMail(db: Queryable, { customerId, id }: AddressId): Promise<void> {
  await db.execute(sql`UPDATE from_address SET mailed_at = now() WHERE customer_id = ${customerId} AND id = ${id}`);
}

/** Their number; other counts for the customer wait until the transaction ends. */
export async function countAddresses(db: Queryable, customerId: bigint): Promise<number> {
  await lockUntilCommit(db, `mailwright:from-addresses:${customerId}`);
  const [row] = await db.query(
    { total: 'int' },
    sql`SELECT count(*)::int AS total FROM from_address WHERE customer_id = ${customerId}`,
  );
  return row?.total ?? 0;
}

export async function findAddress(
  db: Queryable,
  key: { customerId: bigint; uid: string },
): Promise<FromAddress | undefined> {
  return oneAddress(db, sql`customer_id = ${key.customerId} AND uid = ${key.uid}`);
}

export async function findAddressById(db: Queryable, { customerId, id }: AddressId): Promise<FromAddress | undefined> {
  return oneAddress(db, sql`customer_id = ${customerId} AND id = ${id}`);
}

export async function addressUidExists(db: Queryable, uid: string): Promise<boolean> {
  return (await db.execute(sql`SELECT 1 FROM from_address WHERE uid = ${uid} LIMIT 1`)) > 0;
}

export async function markVerified(db: Queryable, { customerId, id }: AddressId): Promise<void> {
  await db.execute(sql`
    UPDATE from_address SET verified_at = coalesce(verified_at, now()), updated_at = now()
     WHERE customer_id = ${customerId} AND id = ${id}`);
}

export async function deleteAddressRow(db: Queryable, { customerId, id }: AddressId): Promise<void> {
  await db.execute(sql`DELETE FROM from_address WHERE customer_id = ${customerId} AND id = ${id}`);
}

async function oneAddress(db: Queryable, where: Sql): Promise<FromAddress | undefined> {
  const [row] = await db.query(FROM_ADDRESS_ROW, sql`SELECT ${COLUMNS} FROM from_address WHERE ${where}`);
  return row;
}
