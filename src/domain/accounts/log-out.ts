/** Logging out: ends the session or login token of the request. API tokens of programs do not log out. */
import { sql } from '../../db/database.ts';
import { inTransaction, viewerOf, type Context } from '../context.ts';
import { notALogin } from './account-errors.ts';
import { auditInTransaction } from './audit-trail.ts';

/** Ends the caller's own login at once, with its open connections. Throws WrongStateError `NOT_A_LOGIN`. */
export async function logOut(ctx: Context): Promise<{ customerId: bigint; uid: string }> {
  const { customerId, tokenId, tokenUid, tokenKind } = viewerOf(ctx);
  if (tokenKind !== 'session' && tokenKind !== 'login') throw notALogin();
  return inTransaction(ctx, async (inner) => {
    await inner.db.execute(
      sql`UPDATE api_token SET revoked_at = coalesce(revoked_at, now()) WHERE customer_id = ${customerId} AND id = ${tokenId}`,
    );
    await auditInTransaction(inner, { customerId, targetUid: tokenUid });
    return { customerId, uid: tokenUid };
  });
}
