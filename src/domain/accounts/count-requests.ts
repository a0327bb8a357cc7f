/**
 * The operator's limit on requests (specification 8.1: none by default): per valid token, and per address for all others. An
 * invalid token counts by address, or inventing tokens would evade the limit.
 */
import type { Database } from '../../db/database.ts';
import { addressBlock } from '../../lib/address-block.ts';
import { sha256 } from '../../lib/crypto.ts';
import type { Log } from '../../lib/log.ts';
import type { CountRequest, RateCaller, RateLimit } from '../../lib/rate-limit.ts';
import { findTokenId } from './api-token-store.ts';
import { RequestCounter } from './request-counter.ts';

export interface RequestLimits {
  readonly perToken: RateLimit | null;
  readonly perAddress: RateLimit | null;
}

/** For how long a valid token is remembered here; whether it is still valid is checked elsewhere. */
const TOKEN_REMEMBERED_MS = 60_000;
const TOKENS_REMEMBERED_MAX = 10_000;

/** The function that entry points call first; undefined when there is no limit. */
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
    // Also when the address's limit is reached: a valid token must not suffer from others at its address.
    const id = await findTokenId(database, digest);
    if (id === undefined) return undefined;
    tokens.set(name, { id, until: performance.now() + TOKEN_REMEMBERED_MS });
    const [oldest] = tokens.size > TOKENS_REMEMBERED_MAX ? tokens.keys() : [];
    if (oldest !== undefined) tokens.delete(oldest);
    return id;
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
