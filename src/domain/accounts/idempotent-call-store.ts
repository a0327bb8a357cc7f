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

/** A call and who wants to run it. */
export interface Runner {
  readonly key: CallKey;
  readonly runner: string;
}

/** Leases calls, of each to the first runner given: returns the runners whose calls are theirs to run. What is older than a day is nobody's. */
export async function leaseCalls(db: Queryable, asked: readonly Runner[]): Promise<ReadonlySet<string>> {
  const leased = await db.query(
    { runner: 'text' },
    sql`
    INSERT INTO hot.idempotent_call AS c (customer_id, id, fingerprint, runner, lease_expires_at)
    SELECT DISTINCT ON (g.customer_id, g.id) g.customer_id, g.id, g.fingerprint, g.runner, now() + make_interval(secs => ${LEASE_SECONDS})
      FROM unnest(${asked.map(({ key }) => key.customerId)}::bigint[], ${asked.map(({ key }) => key.id)}::bytea[],
                  ${asked.map(({ key }) => key.fingerprint)}::bytea[], ${asked.map(({ runner }) => runner)}::uuid[])
           WITH ORDINALITY AS g(customer_id, id, fingerprint, runner, no)
     ORDER BY g.customer_id, g.id, g.no
    ON CONFLICT (customer_id, id) DO UPDATE
       SET fingerprint = excluded.fingerprint, runner = excluded.runner, answer = NULL, created_at = now(),
           lease_expires_at = excluded.lease_expires_at
     WHERE c.created_at < now() - make_interval(hours => ${KEPT_HOURS}) AND c.lease_expires_at < now()
    RETURNING c.runner::text AS runner`,
    'accounts.lease-calls',
  );
  return new Set(leased.map(({ runner }) => runner));
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

/** Keeps the answers of runners' calls. */
export async function keepAnswers(
  db: Queryable,
  given: readonly (Runner & { readonly sealed: Buffer })[],
): Promise<void> {
  await db.execute(
    sql`
    UPDATE hot.idempotent_call c SET answer = g.answer
      FROM unnest(${given.map(({ key }) => key.customerId)}::bigint[], ${given.map(({ key }) => key.id)}::bytea[],
                  ${given.map(({ runner }) => runner)}::uuid[], ${given.map(({ sealed }) => sealed)}::bytea[])
           AS g(customer_id, id, runner, answer)
     WHERE c.customer_id = g.customer_id AND c.id = g.id AND c.runner = g.runner`,
    'accounts.keep-answers',
  );
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
