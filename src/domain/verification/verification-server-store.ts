/** Writes of verification servers, and the reads that the verbs need. */
import { join, sql, type Queryable } from '../../db/database.ts';
import { assignments, columnsOf, insertion, selectList } from '../../db/fields.ts';
import { verificationServerColumns, verificationServerFields } from './verification-server-fields.ts';
import type { VerificationServer, VerificationServerValues } from './verification-server.ts';

const SERVER_ROW = columnsOf(verificationServerColumns);

type ServerKey = Pick<VerificationServer, 'customerId' | 'id'>;

export async function insertVerificationServer(
  db: Queryable,
  server: VerificationServerValues,
): Promise<VerificationServer> {
  const [row] = await db.query(
    SERVER_ROW,
    sql`INSERT INTO email_verification_server ${insertion(verificationServerFields, server)}
        RETURNING ${selectList(verificationServerColumns)}`,
  );
  if (!row) throw new Error('An inserted verification server came back empty.');
  return row;
}

/** Writes the given values. */
export async function updateVerificationServerRow(
  db: Queryable,
  { customerId, id }: ServerKey,
  changes: VerificationServerValues,
): Promise<void> {
  const written = [sql`updated_at = now()`, ...assignments(verificationServerFields, changes)];
  await db.execute(
    sql`UPDATE email_verification_server SET ${join(written)} WHERE customer_id = ${customerId} AND id = ${id}`,
  );
}

export async function deleteVerificationServerRow(db: Queryable, { customerId, id }: ServerKey): Promise<void> {
  await db.execute(sql`DELETE FROM email_verification_server WHERE customer_id = ${customerId} AND id = ${id}`);
}

/** The customer's server with this uid; `lock` prevents others from changing or deleting it. */
export async function findVerificationServer(
  db: Queryable,
  { customerId, uid }: Pick<VerificationServer, 'customerId' | 'uid'>,
  lock = false,
): Promise<VerificationServer | undefined> {
  const [row] = await db.query(
    SERVER_ROW,
    sql`SELECT ${selectList(verificationServerColumns)} FROM email_verification_server
         WHERE customer_id = ${customerId} AND uid = ${uid} ${lock ? sql`FOR UPDATE` : sql``}`,
  );
  return row;
}

/** Whether any customer has one with this uid. */
export async function verificationServerExists(db: Queryable, uid: string): Promise<boolean> {
  return (await db.execute(sql`SELECT 1 FROM email_verification_server WHERE uid = ${uid} LIMIT 1`)) > 0;
}

export async function countVerificationServers(db: Queryable, customerId: bigint): Promise<number> {
  const [row] = await db.query(
    { count: 'int' },
    sql`SELECT count(*)::int AS count FROM email_verification_server WHERE customer_id = ${customerId}`,
  );
  return row?.count ?? 0;
}

/** Unfinished runs of whichever customer that use it. */
export async function openRunsOf(db: Queryable, { uid }: Pick<VerificationServer, 'uid'>): Promise<number> {
  const [row] = await db.query(
    { count: 'int' },
    sql`SELECT count(*)::int AS count FROM verification WHERE server_uid = ${uid} AND status IN ('queued', 'running', 'paused')`,
  );
  return row?.count ?? 0;
}
