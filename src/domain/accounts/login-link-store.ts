/** Rows of links that log somebody in once (table `login_token`). Only the SHA-256 of a link is stored. */
import { sql, type Queryable } from '../../db/database.ts';
import { sha256 } from '../../lib/crypto.ts';
import { LOGIN_LINK_MINUTES, LOGIN_LINKS_MAX } from './account-limits.ts';
import type { UserKey } from './api-token-store.ts';

/** Inserts a link, and answers until when it can be used. */
export async function insertLink(
  db: Queryable,
  { customerId, userId }: UserKey,
  { token, scopes }: { token: string; scopes: readonly string[] },
): Promise<Date> {
  const [row] = await db.query(
    { expiresAt: 'timestamptz' },
    sql`
    INSERT INTO login_token (customer_id, digest, user_id, scopes, expires_at)
    VALUES (${customerId}, ${sha256(token)}, ${userId}, ${scopes}, now() + make_interval(mins => ${LOGIN_LINK_MINUTES}))
    RETURNING expires_at AS "expiresAt"`,
  );
  if (!row) throw new Error('Assertion failed: an insert returns its row');
  return row.expiresAt;
}

/** Uses a link up. Exactly one of any number of calls at once gets it: the others wait for its row, and find it used. */
export async function takeLink(db: Queryable, token: string) {
  const [link] = await db.query(
    { scopes: 'text[]', customerId: 'bigint', userId: 'bigint', userUid: 'text' },
    sql`
    UPDATE login_token l SET used_at = now()
      FROM app_user u, customer c
     WHERE l.digest = ${sha256(token)} AND l.used_at IS NULL AND l.expires_at > now()
       AND u.customer_id = l.customer_id AND u.id = l.user_id AND u.status = 'active'
       AND c.id = l.customer_id AND c.status = 'active'
    RETURNING l.customer_id AS "customerId", l.user_id AS "userId", u.uid AS "userUid", l.scopes`,
  );
  return link;
}

/** Whose link it is or was. Links are kept a bit longer than they last: what has just been used is still known. */
export async function findLink(db: Queryable, token: string) {
  const [link] = await db.query(
    { customerId: 'bigint', userId: 'bigint', userUid: 'text', isUsed: 'bool' },
    sql`
    SELECT l.customer_id AS "customerId", l.user_id AS "userId", u.uid AS "userUid", l.used_at IS NOT NULL AS "isUsed"
      FROM login_token l JOIN app_user u ON u.customer_id = l.customer_id AND u.id = l.user_id
     WHERE l.digest = ${sha256(token)}`,
  );
  return link;
}

/** Deletes the user's links that are over, and the oldest beyond the bound. */
export async function deleteOldLinks(db: Queryable, { customerId, userId }: UserKey): Promise<void> {
  await db.execute(sql`
    DELETE FROM login_token WHERE customer_id = ${customerId} AND digest IN (
      SELECT digest FROM (
        SELECT digest, used_at IS NOT NULL OR expires_at <= now() AS is_over,
               row_number() OVER (ORDER BY created_at DESC, digest) AS place
          FROM login_token WHERE customer_id = ${customerId} AND user_id = ${userId}) t
       WHERE is_over OR place > ${LOGIN_LINKS_MAX})`);
}

/** Deletes all links of a user. */
export async function deleteLinksOfUser(db: Queryable, { customerId, userId }: UserKey): Promise<void> {
  await db.execute(sql`DELETE FROM login_token WHERE customer_id = ${customerId} AND user_id = ${userId}`);
}

/** Deletes all links of a customer's users. */
export async function deleteLinksOfCustomer(db: Queryable, customerId: bigint): Promise<void> {
  await db.execute(sql`DELETE FROM login_token WHERE customer_id = ${customerId}`);
}

/** Deletes at most `max` links that are over, of all customers. Answers how many they were. */
export function deleteEndedLinks(db: Queryable, max: number): Promise<number> {
  return db.execute(sql`
    DELETE FROM login_token WHERE (customer_id, digest) IN (
      SELECT customer_id, digest FROM login_token WHERE expires_at < now() LIMIT ${max})`);
}
