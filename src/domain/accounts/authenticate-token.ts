/**
 * Finds the viewer of a token. A revoked token, a disabled user or customer is refused at the next request, also where tokens are
 * remembered (token-cache.ts). One prepared statement finds the viewer and, at most once a minute, records the use.
 */
import { viewerOf, type Context } from '../context.ts';
import { currentTokenIds, rightsOfTokens, useToken } from './api-token-store.ts';
import type { Authentication } from './authentication.ts';
import type { TokenCache } from './token-cache.ts';

/** Ours have 60, an operator's own up to 100. A longer text is no token and is not hashed. */
const TOKEN_LENGTH_MAX = 100;

/** A credential from a request: an API token, or the text of a session's cookie. One is never taken for the other. */
export interface Credential {
  readonly text: string;
  readonly isSession: boolean;
  readonly ipAddress: string | null;
}

type Means = Pick<Context, 'database' | 'installation'>;

/**
 * The viewer of this credential, or null when it is unknown, expired, revoked, of the other kind, or its user or customer is
 * disabled.
 */
export async function authenticateToken(
  means: Means & { readonly tokens?: TokenCache | undefined },
  credential: Credential,
): Promise<Authentication | null> {
  const { text, isSession } = credential;
  if (text === '' || text.length > TOKEN_LENGTH_MAX) return null;
  if (isSession || !means.tokens) return lookUp(means, credential);
  return means.tokens.find(text, () => lookUp(means, credential));
}

async function lookUp({ database, installation }: Means, credential: Credential): Promise<Authentication | null> {
  const row = await useToken(database, { ...credential, sessionDays: installation.limits.sessionDays });
  if (!row) return null;
  return {
    viewer: {
      userId: row.user_id,
      userUid: row.user_uid,
      customerId: row.customer_id,
      tokenId: row.token_id,
      tokenUid: row.token_uid,
      tokenKind: row.token_kind,
      isAdmin: row.is_admin,
      scopes: row.scopes,
    },
    restDialect: row.rest_dialect,
    mayUseApi: row.may_use_api,
    mayUseInMaintenance: row.may_use_in_maintenance,
  };
}

/** The ids of the caller's valid tokens. A user has a few hundred at most. */
export function currentTokensOf(ctx: Context): Promise<bigint[]> {
  return currentTokenIds(ctx.db, viewerOf(ctx), ctx.installation.limits.sessionDays);
}

/** Whether the caller's token still allows something: for what outlasts the request in which it was checked. */
export async function isTokenCurrent(ctx: Context): Promise<boolean> {
  const viewer = viewerOf(ctx);
  const rights = await rightsOfTokens(ctx.db, [viewer], ctx.installation.limits.sessionDays);
  return rights.has(viewer.tokenId);
}
