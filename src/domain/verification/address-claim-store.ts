/**
 * Claims: which addresses a run is asking about now. Runs of one customer over several lists then do not pay twice for one address that is
 * on both. A claim is held for one step of a run; that of a process that died ends by itself.
 */
import { sql, type Queryable } from '../../db/database.ts';
import type { VerificationKey } from './verification.ts';

/** Longer than a call of a verifier may take (ask-verifier). */
const CLAIM_SECONDS = 150;

/** Of these addresses those that no other run holds: this one holds them from now on. Two addresses with the same digest only wait for each other. */
export async function claimAddresses(
  db: Queryable,
  { customerId, id }: VerificationKey,
  { emailKeys, verifiedBy }: { readonly emailKeys: readonly string[]; readonly verifiedBy: string },
): Promise<ReadonlySet<string>> {
  const rows = await db.query(
    { emailKey: 'text' },
    sql`
    WITH wanted AS (SELECT k, hashtextextended(k, 0) AS address FROM unnest(${[...emailKeys]}::text[]) AS u (k)),
    claimed AS (
      INSERT INTO hot.address_claim AS c (customer_id, verified_by, address, run_id, ends_at)
      SELECT DISTINCT ${customerId}::bigint, ${verifiedBy}::text, address, ${id}::bigint, now() + make_interval(secs => ${CLAIM_SECONDS}::int)
        FROM wanted ORDER BY address
      ON CONFLICT (customer_id, verified_by, address) DO UPDATE SET run_id = excluded.run_id, ends_at = excluded.ends_at
       WHERE c.run_id = excluded.run_id OR c.ends_at < now()
      RETURNING address)
    SELECT k AS "emailKey" FROM wanted JOIN claimed USING (address)`,
    'verification.claim',
  );
  return new Set(rows.map(({ emailKey }) => emailKey));
}

/** Ends the claims of the run, and those of the customer that ended by themselves. */
export async function releaseAddresses(db: Queryable, { customerId, id }: VerificationKey): Promise<void> {
  await db.execute(
    sql`DELETE FROM hot.address_claim WHERE customer_id = ${customerId} AND (run_id = ${id} OR ends_at < now())`,
    'verification.release',
  );
}

/** Deletes claims of processes that died, of all customers. On schedule: the next run of the customer may never come. */
export async function dropEndedClaims(db: Queryable): Promise<number> {
  // Rows that a run takes over at this moment are its own: waiting for them could become a deadlock.
  return db.execute(
    sql`DELETE FROM hot.address_claim c
         USING (SELECT customer_id, verified_by, address FROM hot.address_claim WHERE ends_at < now() FOR UPDATE SKIP LOCKED) e
         WHERE c.customer_id = e.customer_id AND c.verified_by = e.verified_by AND c.address = e.address`,
    'verification.drop_ended_claims',
  );
}
