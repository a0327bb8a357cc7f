/**
 * Rows of API tokens, logins and sessions among them. The token itself is never stored, only its SHA-256: nobody can guess the 357
 * random bits of a generated token, so a slow hash as for passwords is not needed.
 */
import { row, sql, typed, type Queryable, type RowOf } from '../../db/database.ts';
import { sha256 } from '../../lib/crypto.ts';
import { newApiToken, newUid } from '../../lib/ids.ts';
import type { TokenKind, Viewer } from '../context.ts';
import type { SessionDays } from '../limits.ts';
import { LOGIN_TOKENS_MAX } from './account-limits.ts';

export type RestDialect = 'standard' | 'classic';

export interface UserKey {
  readonly customerId: bigint;
  readonly userId: bigint;
}

interface AnyNewToken extends UserKey {
  readonly name: string;
  readonly scopes: readonly string[];
}

/** A credential of a program: valid until it is revoked. */
interface NewProgramToken extends AnyNewToken {
  readonly kind: Exclude<TokenKind, 'login' | 'session'>;
  readonly restDialect?: RestDialect | null | undefined;
  readonly expiresAt?: Date | null | undefined;
  /** A token chosen by the operator; absent: a new one. */
  readonly token?: string | undefined;
}

/** A login: expires. */
interface NewLoginToken extends AnyNewToken {
  readonly kind: 'login' | 'session';
  readonly sessionDays: SessionDays;
}

export type NewApiToken = NewProgramToken | NewLoginToken;

export interface IssuedToken {
  readonly uid: string;
  /** In clear: shown once, not stored. */
  readonly token: string;
}

/** Inserts a token and returns it in clear, this once. */
export async function insertApiToken(db: Queryable, input: NewApiToken): Promise<IssuedToken> {
  const uid = newUid();
  const isLogin = 'sessionDays' in input;
  const token = (isLogin ? undefined : input.token) ?? newApiToken();
  const restDialect = (isLogin ? undefined : input.restDialect) ?? null;
  const days = isLogin ? Math.min(input.sessionDays.idle, input.sessionDays.inAll) : null;
  const expiresAt = (isLogin ? undefined : input.expiresAt) ?? null;
  await db.execute(sql`
    INSERT INTO api_token (customer_id, uid, user_id, kind, name, digest, scopes, rest_dialect, expires_at)
    VALUES (${input.customerId}, ${uid}, ${input.userId}, ${input.kind}, ${input.name}, ${sha256(token)},
            ${input.scopes}, ${restDialect},
            coalesce(now() + make_interval(days => ${days}::int), ${expiresAt}::timestamptz))`);
  return { uid, token };
}

/**
 * Deletes a user's expired and revoked login tokens and sessions, and of the others those unused for longest, so that with the one
 * that is added next there are at most `LOGIN_TOKENS_MAX`.
 */
export async function pruneLoginTokens(db: Queryable, user: UserKey): Promise<void> {
  await db.execute(sql`
    DELETE FROM api_token WHERE customer_id = ${user.customerId} AND id IN (
      SELECT id FROM (
        SELECT id, revoked_at IS NOT NULL OR expires_at <= now() AS ended,
               row_number() OVER (ORDER BY coalesce(last_used_at, created_at) DESC, id DESC) AS place
          FROM api_token
         WHERE customer_id = ${user.customerId} AND user_id = ${user.userId} AND kind IN ('login', 'session')) t
       WHERE ended OR place >= ${LOGIN_TOKENS_MAX})`);
}

/** Named tokens of the user that are not revoked. */
export async function countNamedTokens(db: Queryable, { customerId, userId }: UserKey): Promise<number> {
  const [row] = await db.query(
    { count: 'int' },
    sql`
    SELECT count(*)::int AS count FROM api_token
     WHERE customer_id = ${customerId} AND user_id = ${userId} AND kind = 'named' AND revoked_at IS NULL`,
  );
  return row?.count ?? 0;
}

/** Whether this login or session was made in the last minutes. */
export async function isLoginRecent(
  db: Queryable,
  { customerId, tokenId, minutes }: { customerId: bigint; tokenId: bigint; minutes: number },
): Promise<boolean> {
  const found = await db.execute(sql`
    SELECT 1 FROM api_token
     WHERE customer_id = ${customerId} AND id = ${tokenId} AND created_at > now() - make_interval(mins => ${minutes}::int)`);
  return found > 0;
}

interface OwnToken extends UserKey {
  readonly uid: string;
}

/** The scopes of a user's token, if it is no session and not revoked. */
export async function scopesOfToken(db: Queryable, { customerId, userId, uid }: OwnToken) {
  const [row] = await db.query(
    { scopes: 'text[]' },
    sql`
    SELECT scopes FROM api_token
     WHERE customer_id = ${customerId} AND uid = ${uid} AND user_id = ${userId} AND revoked_at IS NULL AND kind <> 'session'`,
  );
  return row?.scopes;
}

/** Whether there is a token with this uid, whoever's it is. */
export async function tokenExists(db: Queryable, uid: string): Promise<boolean> {
  return (await db.execute(sql`SELECT 1 FROM api_token WHERE uid = ${uid} LIMIT 1`)) > 0;
}

/** Ends a user's token for good, once or again; false: there is none. */
export async function revokeToken(db: Queryable, { customerId, userId, uid }: OwnToken): Promise<boolean> {
  const touched = await db.execute(sql`
    UPDATE api_token SET revoked_at = coalesce(revoked_at, now())
     WHERE customer_id = ${customerId} AND uid = ${uid} AND user_id = ${userId}`);
  return touched > 0;
}

/**
 * Gives a user's token another text; false: there is none that is not revoked. The row gets a new id as well: what is open
 * under the old text is known by the old id, and ends.
 */
export async function replaceToken(db: Queryable, own: OwnToken, token: string): Promise<boolean> {
  const { customerId, userId, uid } = own;
  const touched = await db.execute(sql`
    UPDATE api_token SET digest = ${sha256(token)}, id = DEFAULT, last_used_at = NULL, last_used_ip = NULL
     WHERE customer_id = ${customerId} AND uid = ${uid} AND user_id = ${userId} AND revoked_at IS NULL`);
  return touched > 0;
}

/** Ends all login tokens and sessions of the user but `tokenId`. */
export async function endLogins(
  db: Queryable,
  { customerId, userId, tokenId }: UserKey & { readonly tokenId?: bigint | undefined },
): Promise<void> {
  await db.execute(sql`
    UPDATE api_token SET revoked_at = now()
     WHERE customer_id = ${customerId} AND user_id = ${userId} AND kind IN ('login', 'session')
       AND revoked_at IS NULL AND id IS DISTINCT FROM ${tokenId ?? null}::bigint`);
}

/** Deletes at most `max` tokens that ended more than `days` ago. Answers how many they were. */
export function deleteEndedTokens(db: Queryable, { days, max }: { days: number; max: number }): Promise<number> {
  return db.execute(sql`
    DELETE FROM api_token WHERE (customer_id, id) IN (
      SELECT customer_id, id FROM api_token
       WHERE least(revoked_at, expires_at) < now() - make_interval(days => ${days}) LIMIT ${max})`);
}

/** The id of a token that has not ended, by its digest. */
export async function findTokenId(db: Queryable, digest: Buffer): Promise<bigint | undefined> {
  const [row] = await db.query(
    { id: 'bigint' },
    sql`SELECT id FROM api_token
         WHERE digest = ${digest} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`,
    'accounts.token_id',
  );
  return row?.id;
}

/** Whose credential this is. As `authenticateToken` finds it: a kept answer is for nobody who would not be let in. */
export async function findCaller(db: Queryable, { text, isSession }: Pick<TokenUse, 'text' | 'isSession'>) {
  const [row] = await db.query(
    { customerId: 'bigint', tokenId: 'bigint' },
    sql`SELECT t.customer_id AS "customerId", t.id AS "tokenId"
          FROM api_token t
          JOIN app_user u ON u.customer_id = t.customer_id AND u.id = t.user_id
          JOIN customer c ON c.id = t.customer_id
         WHERE t.digest = ${sha256(text)} AND (t.kind = 'session') = ${isSession}::boolean AND t.revoked_at IS NULL
           AND (t.expires_at IS NULL OR t.expires_at > now()) AND u.status = 'active' AND c.status = 'active'`,
    'accounts.idempotent_caller',
  );
  return row;
}

const TOKEN_OWNER = row({
  customerId: 'bigint',
  userId: 'bigint',
  userUid: 'text',
  tokenUid: 'text',
  tokenKind: typed<TokenKind>('text'),
  /** Why it is refused. */
  reason: 'text',
});
export type TokenOwner = RowOf<typeof TOKEN_OWNER>;

/** Whose token was refused, and why; undefined: there is no such token. */
export async function findRefusedToken(
  db: Queryable,
  { text, isSession }: { text: string; isSession: boolean },
): Promise<TokenOwner | undefined> {
  const [owner] = await db.query(
    TOKEN_OWNER,
    sql`
    SELECT t.customer_id AS "customerId", t.user_id AS "userId", u.uid AS "userUid", t.uid AS "tokenUid",
           t.kind AS "tokenKind",
           CASE WHEN (t.kind = 'session') <> ${isSession}::boolean THEN 'TOKEN_OF_OTHER_KIND'
                WHEN t.revoked_at IS NOT NULL THEN 'TOKEN_REVOKED'
                WHEN u.status <> 'active' OR c.status <> 'active' THEN 'ACCOUNT_DISABLED'
                ELSE 'TOKEN_EXPIRED' END AS reason
      FROM api_token t
      JOIN app_user u ON u.customer_id = t.customer_id AND u.id = t.user_id
      JOIN customer c ON c.id = t.customer_id
     WHERE t.digest = ${sha256(text)}`,
    'accounts.refused_token',
  );
  return owner;
}

/**
 * The options of the customer `c` by the subscription that is in force (as `onlyInForce` of billing, which this module may not
 * import); without one the API is open, for reading and paying (D55).
 */
const planOptions = sql`
  SELECT p.options || s.options AS options FROM subscription s JOIN plan p ON p.id = s.plan_id
   WHERE s.customer_id = c.id
     AND (s.status <> 'ended' OR s.current_period_started_at IS NOT NULL)
   ORDER BY (s.status = 'pending'), (s.status = 'ended'), s.id DESC LIMIT 1`;
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

/** The ids of the user's tokens that have not ended. */
export async function currentTokenIds(
  db: Queryable,
  { customerId, userId }: UserKey,
  sessionDays: SessionDays,
): Promise<bigint[]> {
  const rows = await db.query(
    { id: 'bigint' },
    sql`
    SELECT t.id FROM api_token t
     WHERE t.customer_id = ${customerId} AND t.user_id = ${userId} AND ${isCurrent(sessionDays)}`,
  );
  return rows.map(({ id }) => id);
}

/** How often a use is recorded: at most one write a minute per token instead of one per request. */
const USE_NOTED_EVERY_SECONDS = 60;

const TOKEN_IN_USE = row({
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

interface TokenUse {
  readonly text: string;
  /** An API token is never taken for a session, nor a session for one. */
  readonly isSession: boolean;
  readonly ipAddress: string | null;
  readonly sessionDays: SessionDays;
}

/** The token that has not ended, of an active user and customer, with their rights. Notes the use, and so extends a login. */
export async function useToken(
  db: Queryable,
  { text, isSession, ipAddress, sessionDays }: TokenUse,
): Promise<RowOf<typeof TOKEN_IN_USE> | undefined> {
  const [found] = await db.query(
    TOKEN_IN_USE,
    sql`
    WITH found AS (
      SELECT t.customer_id, t.id AS token_id, t.uid AS token_uid, t.kind AS token_kind, t.user_id, u.uid AS user_uid, u.is_admin, t.scopes, t.rest_dialect,
             ${mayUseApi} AS may_use_api,
             u.is_admin OR c.is_operator OR coalesce(o.options ->> 'access_when_offline', 'no') = 'yes' AS may_use_in_maintenance
        FROM api_token t
        JOIN app_user u ON u.customer_id = t.customer_id AND u.id = t.user_id
        JOIN customer c ON c.id = t.customer_id
        LEFT JOIN LATERAL (${planOptions}) o ON true
       WHERE t.digest = ${sha256(text)} AND (t.kind = 'session') = ${isSession}::boolean AND ${isCurrent(sessionDays)}
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
    SELECT * FROM found`,
    'accounts.authenticate',
  );
  return found;
}
