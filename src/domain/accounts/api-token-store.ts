/**
 * Writes of API tokens. The token itself is never stored, only its SHA-256: nobody can guess the 357 random bits of a generated
 * token, so a slow hash as for passwords is not needed.
 */
import { sql, type Queryable } from '../../db/database.ts';
import { sha256 } from '../../lib/crypto.ts';
import { newApiToken, newUid } from '../../lib/ids.ts';
import type { TokenKind } from '../context.ts';
import type { SessionDays } from '../limits.ts';
import { LOGIN_TOKENS_MAX } from './account-limits.ts';

export type RestDialect = 'standard' | 'classic';

interface AnyNewToken {
  readonly customerId: bigint;
  readonly userId: bigint;
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

export interface UserKey {
  readonly customerId: bigint;
  readonly userId: bigint;
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
