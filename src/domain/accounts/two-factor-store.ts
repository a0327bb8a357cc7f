/** Rows of second factors and their recovery codes. The secret is stored encrypted, a code only as a keyed digest. */
import { sql, type Queryable } from '../../db/database.ts';
import type { UserKey } from './api-token-store.ts';

export interface SecondFactor extends UserKey {
  readonly sealedSecret: Uint8Array;
}

/** The second factor of a user, confirmed or just begun. */
export async function findTwoFactor(
  db: Queryable,
  user: UserKey,
): Promise<(SecondFactor & { readonly isConfirmed: boolean }) | undefined> {
  const [row] = await db.query(
    { sealed_secret: 'bytea', is_confirmed: 'bool' },
    sql`
    SELECT sealed_secret, confirmed_at IS NOT NULL AS is_confirmed FROM two_factor
     WHERE customer_id = ${user.customerId} AND user_id = ${user.userId}`,
  );
  return row && { ...user, sealedSecret: row.sealed_secret, isConfirmed: row.is_confirmed };
}

/** Writes a secret that is to be confirmed, instead of an earlier such one; false: there is a confirmed one. */
export async function writeTwoFactor(
  db: Queryable,
  { customerId, userId }: UserKey,
  sealedSecret: Uint8Array,
): Promise<boolean> {
  const begun = await db.execute(sql`
    INSERT INTO two_factor (customer_id, user_id, sealed_secret) VALUES (${customerId}, ${userId}, ${sealedSecret})
    ON CONFLICT (customer_id, user_id) DO UPDATE
       SET sealed_secret = excluded.sealed_secret, last_step = NULL, created_at = now()
     WHERE two_factor.confirmed_at IS NULL`);
  return begun > 0;
}

/** Confirms this very secret; false: it was confirmed, or replaced, before. */
export async function markTwoFactorConfirmed(db: Queryable, factor: SecondFactor): Promise<boolean> {
  const confirmed = await db.execute(sql`
    UPDATE two_factor SET confirmed_at = now()
     WHERE customer_id = ${factor.customerId} AND user_id = ${factor.userId}
       AND sealed_secret = ${Buffer.from(factor.sealedSecret)} AND confirmed_at IS NULL`);
  return confirmed > 0;
}

/** Notes a time step as used; false: it, or a later one, was used before. Of two calls with the same step one is late. */
export async function takeStep(db: Queryable, factor: SecondFactor, step: number): Promise<boolean> {
  const taken = await db.execute(sql`
    UPDATE two_factor SET last_step = ${step}
     WHERE customer_id = ${factor.customerId} AND user_id = ${factor.userId}
       AND sealed_secret = ${Buffer.from(factor.sealedSecret)} AND (last_step IS NULL OR last_step < ${step})`);
  return taken === 1;
}

/** Deletes the second factor of a user with its recovery codes; false: there was none. */
export async function deleteTwoFactor(db: Queryable, { customerId, userId }: UserKey): Promise<boolean> {
  return (await db.execute(sql`DELETE FROM two_factor WHERE customer_id = ${customerId} AND user_id = ${userId}`)) > 0;
}

/** Keeps the digests of these recovery codes, and no others. */
export async function replaceRecoveryCodes(
  db: Queryable,
  { customerId, userId }: UserKey,
  digests: readonly Buffer[],
): Promise<void> {
  await db.execute(sql`DELETE FROM recovery_code WHERE customer_id = ${customerId} AND user_id = ${userId}`);
  await db.execute(sql`
    INSERT INTO recovery_code (customer_id, user_id, digest) SELECT ${customerId}, ${userId}, unnest(${digests}::bytea[])`);
}

/** Notes a recovery code as used; false: there is none, or it was used before. */
export async function useRecoveryCode(
  db: Queryable,
  { customerId, userId }: UserKey,
  digest: Buffer,
): Promise<boolean> {
  const taken = await db.execute(sql`
    UPDATE recovery_code SET used_at = now()
     WHERE customer_id = ${customerId} AND user_id = ${userId} AND digest = ${digest} AND used_at IS NULL`);
  return taken === 1;
}
