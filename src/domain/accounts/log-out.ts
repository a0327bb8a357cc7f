/** Logging out: ends the session or login token of the request. API tokens of programs do not log out. */
import { inTransaction, viewerOf, type Context } from '../context.ts';
import { notALogin } from './account-errors.ts';
import { revokeToken } from './api-token-store.ts';
import { auditInTransaction } from './audit-trail.ts';

/** Ends the caller's own login at once, with its open connections. Throws WrongStateError `NOT_A_LOGIN`. */
export async function logOut(ctx: Context): Promise<{ customerId: bigint; uid: string }> {
  const { customerId, userId, tokenUid, tokenKind } = viewerOf(ctx);
  if (tokenKind !== 'session' && tokenKind !== 'login') throw notALogin();
  return inTransaction(ctx, async (inner) => {
    await revokeToken(inner.db, { customerId, userId, uid: tokenUid });
    await auditInTransaction(inner, { customerId, targetUid: tokenUid });
    return { customerId, uid: tokenUid };
  });
}
