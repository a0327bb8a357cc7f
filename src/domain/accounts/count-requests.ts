/**
 * The operator's limit on requests (specification 8.1: none by default): per token for those who have one that works,
 * per address for strangers. A token that does not work is a stranger's, or inventing tokens would be a way around.
 */
import { sql, type Database } from '../../db/database.ts';
import { addressBlock } from '../../lib/address-block.ts';
import { sha256 } from '../../lib/crypto.ts';
import type { Log } from '../../lib/log.ts';
import type { CountRequest, RateCaller, RateLimit } from '../../lib/rate-limit.ts';
import { RequestCounter } from './request-counter.ts';

export interface RequestLimits {
  readonly perToken: RateLimit | null;
  readonly perAddress: RateLimit | null;
}

/** How long a token that was found is taken for the same without looking; that it still works is checked elsewhere. */
const TOKEN_REMEMBERED_MS = 60_000;
const TOKENS_REMEMBERED_MAX = 10_000;

/** The function that entry points ask before they do anything else; undefined when there is no limit at all. */
export function createRequestLimit(
  limits: RequestLimits,
  { database, log }: { database: Database; log: Log },
): CountRequest | undefined {
  const { perToken, perAddress } = limits;
  if (!perToken && !perAddress) return undefined;
  const counter = new RequestCounter({ database, log });
  const tokens = new Map<string, { id: bigint; until: number }>();

  async function tokenOf({ credential, tokenId }: RateCaller): Promise<bigint | undefined> {
    if (tokenId !== undefined || credential === null) return tokenId;
    const digest = sha256(credential);
    const name = digest.toString('base64');
    const found = tokens.get(name);
    if (found && found.until > performance.now()) return found.id;
    tokens.delete(name);
    // Also behind an address that is used up: somebody's right token must not suffer from its neighbours.
    const [row] = await database.query<{ id: bigint }>(
      sql`SELECT id FROM api_token
           WHERE digest = ${digest} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`,
      'accounts.token_id',
    );
    if (!row) return undefined;
    tokens.set(name, { id: row.id, until: performance.now() + TOKEN_REMEMBERED_MS });
    const [oldest] = tokens.size > TOKENS_REMEMBERED_MAX ? tokens.keys() : [];
    if (oldest !== undefined) tokens.delete(oldest);
    return row.id;
  }

  return async (caller) => {
    const id = await tokenOf(caller);
    const limit = id === undefined ? perAddress : perToken;
    if (!limit) return undefined;
    const key = id === undefined ? addressKey(caller.ipAddress) : `token:${id}`;
    return { counted: id === undefined ? 'address' : 'token', limit, ...(await counter.count(key, limit)) };
  };
}

function addressKey(ipAddress: string): string {
  return `address:${addressBlock(ipAddress)}`;
}
