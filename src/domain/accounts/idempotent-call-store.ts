/** Rows of calls that came with an Idempotency-Key. Who runs one holds a lease on its row. */
import { sql, type Queryable } from '../../db/database.ts';

export interface CallKey {
  readonly customerId: bigint;
  readonly id: Buffer;
  readonly fingerprint: Buffer;
}

/** The draft asks for a published time: a day is longer than any client's retries. */
const KEPT_HOURS = 24;
const LEASE_SECONDS = 30;

/** True: the call is the runner's to run. What is older than a day is nobody's. */
export async function leaseCall(
  db: Queryable,
  { customerId, id, fingerprint }: CallKey,
  runner: string,
): Promise<boolean> {
  const leased = await db.execute(sql`
    INSERT INTO hot.idempotent_call AS c (customer_id, id, fingerprint, runner, lease_expires_at)
    VALUES (${customerId}, ${id}, ${fingerprint}, ${runner}, now() + make_interval(secs => ${LEASE_SECONDS}))
    ON CONFLICT (customer_id, id) DO UPDATE
       SET fingerprint = excluded.fingerprint, runner = excluded.runner, answer = NULL, created_at = now(),
           lease_expires_at = excluded.lease_expires_at
     WHERE c.created_at < now() - make_interval(hours => ${KEPT_HOURS}) AND c.lease_expires_at < now()`);
  return leased === 1;
}

/** What is kept of a call. */
export async function findCall(db: Queryable, { customerId, id }: CallKey) {
  const [row] = await db.query(
    { fingerprint: 'bytea', answer: 'bytea?', isRunning: 'bool' },
    sql`
    SELECT fingerprint, answer, lease_expires_at > now() AS "isRunning"
      FROM hot.idempotent_call WHERE customer_id = ${customerId} AND id = ${id}`,
  );
  return row;
}

/** Renews the runner's lease. */
export async function renewLease(db: Queryable, { customerId, id }: CallKey, runner: string): Promise<void> {
  await db.execute(sql`
    UPDATE hot.idempotent_call SET lease_expires_at = now() + make_interval(secs => ${LEASE_SECONDS})
     WHERE customer_id = ${customerId} AND id = ${id} AND runner = ${runner}`);
}

/** Keeps the answer of the runner's call. */
export async function keepAnswer(
  db: Queryable,
  { key: { customerId, id }, runner }: { key: CallKey; runner: string },
  sealed: Buffer,
): Promise<void> {
  await db.execute(sql`
    UPDATE hot.idempotent_call SET answer = ${sealed}
     WHERE customer_id = ${customerId} AND id = ${id} AND runner = ${runner}`);
}

/** Deletes the runner's call, which may then be run again. */
export async function deleteCall(db: Queryable, { customerId, id }: CallKey, runner: string): Promise<void> {
  await db.execute(sql`
    DELETE FROM hot.idempotent_call WHERE customer_id = ${customerId} AND id = ${id} AND runner = ${runner}`);
}

/** Deletes what was kept for a day; the clock's part. */
export async function dropOldCalls(db: Pick<Queryable, 'execute'>): Promise<number> {
  return db.execute(
    sql`DELETE FROM hot.idempotent_call WHERE created_at < now() - make_interval(hours => ${KEPT_HOURS})`,
  );
}
