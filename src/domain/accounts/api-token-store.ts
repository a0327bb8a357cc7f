/** Writes of API tokens. The token itself is never stored: only its SHA-256, which is enough for 357 random bits. */
import { sql, type Queryable } from '../../db/database.ts';
import { sha256 } from '../../lib/crypto.ts';
import { newApiToken, newUid } from '../../lib/ids.ts';
import type { TokenKind } from '../context.ts';
import { LOGIN_TOKEN_IDLE_DAYS, LOGIN_TOKENS_MAX } from './account-limits.ts';

export type RestDialect = 'standard' | 'classic';

export interface NewApiToken {
  readonly customerId: bigint;
  readonly userId: bigint;
  readonly kind: TokenKind;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly restDialect?: RestDialect | null | undefined;
  readonly expiresAt?: Date | null | undefined;
  /** A token chosen by the operator; absent: a fresh one. */
  readonly token?: string | undefined;
}

export interface IssuedToken {
  readonly uid: string;
  /** In clear: shown once, and nowhere kept. */
  readonly token: string;
}

/** Inserts a token and gives it in clear, this once. */
export async function insertApiToken(db: Queryable, input: NewApiToken): Promise<IssuedToken> {
  const uid = newUid();
  const token = input.token ?? newApiToken();
  await db.execute(sql`
    INSERT INTO api_token (customer_id, uid, user_id, kind, name, digest, scopes, rest_dialect, expires_at)
    VALUES (${input.customerId}, ${uid}, ${input.userId}, ${input.kind}, ${input.name}, ${sha256(token)},
            ${input.scopes}, ${input.restDialect ?? null},
            CASE WHEN ${input.kind} IN ('login', 'session') THEN now() + make_interval(days => ${LOGIN_TOKEN_IDLE_DAYS})
                 ELSE ${input.expiresAt ?? null}::timestamptz END)`);
  return { uid, token };
}

export interface UserKey {
  readonly customerId: bigint;
  readonly userId: bigint;
}

/** Drops a user's login tokens and sessions that have ended, and the least used ones beyond the bound. */
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
