/** Ends a token, or gives it a new text. Both take effect with the next request, and on open connections. */
import { newApiToken } from '../../lib/ids.ts';
import { inTransaction, viewerOf, type Context } from '../context.ts';
import { apiTokenNotFound, foreignApiToken, scopeNotHeld } from './account-errors.ts';
import { replaceToken, revokeToken, scopesOfToken, tokenExists, type IssuedToken } from './api-token-store.ts';
import { auditInTransaction } from './audit-trail.ts';
import { requireRecentLogin } from './require-recent-login.ts';
import { mayGrant } from './scopes.ts';

/** Ends one of the caller's tokens permanently; repeating it is harmless. Throws NotFoundError `API_TOKEN_NOT_FOUND`. */
export async function revokeApiToken(ctx: Context, { uid }: { uid: string }): Promise<{ uid: string }> {
  const { customerId, userId } = viewerOf(ctx);
  return inTransaction(ctx, async (inner) => {
    if (!(await revokeToken(inner.db, { customerId, userId, uid }))) throw await missingToken(inner, uid);
    await auditInTransaction(inner, { customerId, targetUid: uid });
    return { uid };
  });
}

/**
 * Gives one of the caller's tokens a new text; the old one ends at once. Throws NotFoundError `API_TOKEN_NOT_FOUND`;
 * ForbiddenError `SCOPE_NOT_HELD` for a token with more rights than the caller's, which would learn its text, and `LOGIN_TOO_OLD`.
 */
export async function rotateApiToken(ctx: Context, { uid }: { uid: string }): Promise<IssuedToken> {
  const { customerId, userId, scopes, isAdmin } = viewerOf(ctx);
  if (isAdmin) await requireRecentLogin(ctx);
  const own = { customerId, userId, uid };
  const token = newApiToken();
  const held = await scopesOfToken(ctx.db, own);
  if (!held) throw await missingToken(ctx, uid);
  if (!held.every((scope) => mayGrant(scopes, scope))) throw scopeNotHeld();
  return inTransaction(ctx, async (inner) => {
    if (!(await replaceToken(inner.db, own, token))) throw await missingToken(inner, uid);
    await auditInTransaction(inner, { customerId, targetUid: uid });
    return { uid, token };
  });
}

async function missingToken({ db }: Context, uid: string) {
  return (await tokenExists(db, uid)) ? foreignApiToken() : apiTokenNotFound();
}
