/**
 * Finds the viewer of a token. Nothing is cached: a revoked token, a disabled user or customer is refused at the next request.
 * One prepared statement finds the viewer and, at most once a minute, records the use.
 */
import { sql, row, typed, type Queryable } from '../../db/database.ts';
import { sha256 } from '../../lib/crypto.ts';
import { viewerOf, type Context, type TokenKind, type Viewer } from '../context.ts';
import type { SessionDays } from '../limits.ts';
import type { RestDialect } from './api-token-store.ts';

export interface Authentication {
  readonly viewer: Viewer;
  /** The token's own REST dialect; null: the installation's. */
  readonly restDialect: RestDialect | null;
  /** False where the customer's plan says `api_access` no. */
  readonly mayUseApi: boolean;
  /** Whether it may be used during maintenance: administrators, and by the plan's `access_when_offline`. */
  readonly mayUseInMaintenance: boolean;
}

/** How often a use is recorded: at most one write a minute per token instead of one per request. */
const USE_NOTED_EVERY_SECONDS = 60;
/** Ours have 60, an operator's own up to 100. A longer text is no token and is not hashed. */
const TOKEN_LENGTH_MAX = 100;

/** A credential from a request: an API token, or the text of a session's cookie. One is never taken for the other. */
export interface Credential {
  readonly text: string;
  readonly isSession: boolean;
  readonly ipAddress: string | null;
}

const ROW = row({
  user_id: 'bigint',
  user_uid: 'text',
  customer_id: 'bigint',
  token_id: 'bigint',
  token_uid: 'text',
  token_kind: typed<TokenKind>('text'),
  is_admin: 'bool',
  scopes: 'text[]',
  rest_dialect: typed<RestDialect>('text?'),
  may_use_api: 'bool',
  may_use_in_maintenance: 'bool',
});

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
  const asked = { digest: sha256(text), sessionDays: installation.limits.sessionDays, ...credential };
  const [row] = await database.query(ROW, findAndNoteUse(asked), 'accounts.authenticate');
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

/**
 * The options of the customer `c` by its latest subscription (decision record 0050); without one, or with one that ended before
 * it began, nothing is limited.
 */
const planOptions = sql`
  SELECT p.options || s.options AS options FROM subscription s JOIN plan p ON p.id = s.plan_id
   WHERE s.customer_id = c.id AND s.status <> 'pending'
     AND (s.status <> 'ended' OR s.current_period_started_at IS NOT NULL)
   ORDER BY (s.status = 'ended'), s.id DESC LIMIT 1`;
/** Whether the token `t` is valid by the database's clock. A shortened `sessionDays` applies at once. */
const isCurrent = ({
  inAll,
}: SessionDays) => sql`t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
   AND (t.kind NOT IN ('login', 'session') OR t.created_at > now() - make_interval(days => ${inAll}::int))`;
const mayUseApi = sql`(c.is_operator OR coalesce(o.options ->> 'api_access', 'yes') = 'yes')`;

/**
 * Those of the tokens that are still valid, each with whether its user is an administrator now: for connections that stay open
 * longer than a request.
 */
export async function rightsOfTokens(
  db: Queryable,
  tokens: readonly Pick<Viewer, 'customerId' | 'tokenId'>[],
  sessionDays: SessionDays,
): Promise<ReadonlyMap<bigint, boolean>> {
  const rows = await db.query(
    { id: 'bigint', is_admin: 'bool' },
    sql`SELECT t.id, u.is_admin
          FROM api_token t
          JOIN app_user u ON u.customer_id = t.customer_id AND u.id = t.user_id
          JOIN customer c ON c.id = t.customer_id
          LEFT JOIN LATERAL (${planOptions}) o ON true
         WHERE (t.kind IN ('session', 'login') OR ${mayUseApi})
           AND (t.customer_id, t.id) IN (SELECT * FROM unnest(
                 ${tokens.map(({ customerId }) => customerId)}::bigint[], ${tokens.map(({ tokenId }) => tokenId)}::bigint[]))
           AND ${isCurrent(sessionDays)} AND u.status = 'active' AND c.status = 'active'`,
    'accounts.standing',
  );
  return new Map(rows.map((row) => [row.id, row.is_admin]));
}

/** The ids of the caller's valid tokens. A user has a few hundred at most. */
export async function currentTokensOf(ctx: Context): Promise<bigint[]> {
  const { customerId, userId } = viewerOf(ctx);
  const rows = await ctx.db.query(
    { id: 'bigint' },
    sql`
    SELECT t.id FROM api_token t
     WHERE t.customer_id = ${customerId} AND t.user_id = ${userId} AND ${isCurrent(ctx.installation.limits.sessionDays)}`,
  );
  return rows.map(({ id }) => id);
}

interface Asked extends Pick<Credential, 'isSession' | 'ipAddress'> {
  readonly digest: Buffer;
  readonly sessionDays: SessionDays;
}

function findAndNoteUse({ digest, isSession, ipAddress, sessionDays }: Asked) {
  return sql`
    WITH found AS (
      SELECT t.customer_id, t.id AS token_id, t.uid AS token_uid, t.kind AS token_kind, t.user_id, u.uid AS user_uid, u.is_admin, t.scopes, t.rest_dialect,
             ${mayUseApi} AS may_use_api,
             u.is_admin OR c.is_operator OR coalesce(o.options ->> 'access_when_offline', 'no') = 'yes' AS may_use_in_maintenance
        FROM api_token t
        JOIN app_user u ON u.customer_id = t.customer_id AND u.id = t.user_id
        JOIN customer c ON c.id = t.customer_id
        LEFT JOIN LATERAL (${planOptions}) o ON true
       WHERE t.digest = ${digest} AND (t.kind = 'session') = ${isSession}::boolean AND ${isCurrent(sessionDays)}
         AND u.status = 'active' AND c.status = 'active'
    ), noted AS (
      UPDATE api_token t SET
        last_used_at = now(), last_used_ip = ${ipAddress}::text,
        expires_at = CASE WHEN t.kind IN ('login', 'session')
                          THEN least(now() + make_interval(days => ${sessionDays.idle}::int),
                                     t.created_at + make_interval(days => ${sessionDays.inAll}::int))
                          ELSE t.expires_at END
      FROM found f
      WHERE t.customer_id = f.customer_id AND t.id = f.token_id
        AND (t.last_used_at IS NULL OR t.last_used_at < now() - make_interval(secs => ${USE_NOTED_EVERY_SECONDS}::int))
    )
    SELECT * FROM found`;
}
