/**
 * After a change of how a user logs in (password, second factor, rights), every earlier login ends at once, with its open
 * connections, and so do one-time links. API tokens made by hand are separate credentials and stay.
 */
import { sql, type Queryable } from '../../db/database.ts';
import type { UserKey } from './api-token-store.ts';

export interface LoggedInUser extends UserKey {
  /** The login that stays: the one of this request. */
  readonly tokenId?: bigint | undefined;
}

/** Ends all login tokens, sessions and one-time links of the user except one. */
export async function endOtherLogins(db: Queryable, { customerId, userId, tokenId }: LoggedInUser): Promise<void> {
  // A login in progress locks the user until its token exists; later logins see the change.
  await db.execute(
    sql`SELECT 1 FROM app_user WHERE customer_id = ${customerId} AND id = ${userId} FOR NO KEY UPDATE`,
    'accounts.hold_user',
  );
  // Links before sessions: one that is being used is waited for, and then its session is found.
  await db.execute(sql`DELETE FROM login_token WHERE customer_id = ${customerId} AND user_id = ${userId}`);
  await db.execute(sql`
    UPDATE api_token SET revoked_at = now()
     WHERE customer_id = ${customerId} AND user_id = ${userId} AND kind IN ('login', 'session')
       AND revoked_at IS NULL AND id IS DISTINCT FROM ${tokenId ?? null}::bigint`);
}
