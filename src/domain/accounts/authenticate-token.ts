/**
 * Finds the viewer of a token. Nothing is cached: a revoked token, a disabled user or customer is refused at the next request.
 * One prepared statement finds the viewer and, at most once a minute, records the use.
 */
import { viewerOf, type Context, type Viewer } from '../context.ts';
import { currentTokenIds, useToken, type RestDialect } from './api-token-store.ts';

export interface Authentication {
  readonly viewer: Viewer;
  /** The token's own REST dialect; null: the installation's. */
  readonly restDialect: RestDialect | null;
  /** False where the customer's plan says `api_access` no. */
  readonly mayUseApi: boolean;
  /** Whether it may be used during maintenance: administrators, and by the plan's `access_when_offline`. */
  readonly mayUseInMaintenance: boolean;
}

/** Ours have 60, an operator's own up to 100. A longer text is no token and is not hashed. */
const TOKEN_LENGTH_MAX = 100;

/** A credential from a request: an API token, or the text of a session's cookie. One is never taken for the other. */
export interface Credential {
  readonly text: string;
  readonly isSession: boolean;
  readonly ipAddress: string | null;
}

/**
 * The viewer of this credential, or null when it is unknown, expired, revoked, of the other kind, or its user or customer is
 * disabled.
 */
export async function authenticateToken(
  { database, installation }: Pick<Context, 'database' | 'installation'>,
  credential: Credential,
): Promise<Authentication | null> {
  const { text } = credential;
  if (text === '' || text.length > TOKEN_LENGTH_MAX) return null;
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
