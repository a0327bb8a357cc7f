/** Ends a token, or gives it a new text. Both take effect with the next request, and on open connections. */
import { sql } from '../../db/database.ts';
import { sha256 } from '../../lib/crypto.ts';
import { newApiToken } from '../../lib/ids.ts';
import { inTransaction, viewerOf, type Context } from '../context.ts';
import { apiTokenNotFound, foreignApiToken, scopeNotHeld } from './account-errors.ts';
import type { IssuedToken } from './api-token-store.ts';
import { auditInTransaction } from './audit-trail.ts';
import { mayGrant } from './scopes.ts';

/** Ends one of the caller's tokens permanently; repeating it is harmless. Throws NotFoundError `API_TOKEN_NOT_FOUND`. */
export async function revokeApiToken(ctx: Context, { uid }: { uid: string }): Promise<{ uid: string }> {
  const { customerId, userId } = viewerOf(ctx);
  return inTransaction(ctx, async (inner) => {
    const touched = await inner.db.execute(sql`
      UPDATE api_token SET revoked_at = coalesce(revoked_at, now())
       WHERE customer_id = ${customerId} AND uid = ${uid} AND user_id = ${userId}`);
    if (touched === 0) throw await missingToken(inner, uid);
    await auditInTransaction(inner, { customerId, targetUid: uid });
    return { uid };
  });
}

/**
 * Gives one of the caller's tokens a new text; the old one ends at once. Throws NotFoundError `API_TOKEN_NOT_FOUND`;
 * ForbiddenError `SCOPE_NOT_HELD` for a token with more rights than the caller's, which would learn its text.
 */
export async function rotateApiToken(ctx: Context, { uid }: { uid: string }): Promise<IssuedToken> {
  const { customerId, userId, scopes } = viewerOf(ctx);
  const token = newApiToken();
  const [held] = await ctx.db.query(
    { scopes: 'text[]' },
    sql`
    SELECT scopes FROM api_token
     WHERE customer_id = ${customerId} AND uid = ${uid} AND user_id = ${userId} AND revoked_at IS NULL AND kind <> 'session'`,
  );
  if (!held) throw await missingToken(ctx, uid);
  if (!held.scopes.every((scope) => mayGrant(scopes, scope))) throw scopeNotHeld();
  // The row gets a new id as well: connections of the old text have the old id, and end.
  return inTransaction(ctx, async (inner) => {
    const touched = await inner.db.execute(sql`
      UPDATE api_token SET digest = ${sha256(token)}, id = DEFAULT, last_used_at = NULL, last_used_ip = NULL
       WHERE customer_id = ${customerId} AND uid = ${uid} AND user_id = ${userId} AND revoked_at IS NULL`);
    if (touched === 0) throw await missingToken(inner, uid);
    await auditInTransaction(inner, { customerId, targetUid: uid });
    return { uid, token };
  });
}

async function missingToken(ctx: Context, uid: string) {
  const row = await ctx.db.execute(sql`SELECT 1 FROM api_token WHERE uid = ${uid} LIMIT 1`);
  return row ? foreignApiToken() : apiTokenNotFound();
}
