/** The operator's limit on requests, in the form of the setting and of the answer's headers. */

/** At most `requests` within `windowSeconds`, counted from the first. */
export interface RateLimit {
  readonly requests: number;
  readonly windowSeconds: number;
}

/** The result of counting one request. */
export interface RateVerdict {
  /** Whose requests were counted together. */
  readonly counted: 'token' | 'address';
  readonly limit: RateLimit;
  readonly isAllowed: boolean;
  readonly remaining: number;
  /** Until the window ends and the full limit is available again. */
  readonly resetSeconds: number;
}

/** Who makes a request, as far as the entry point knows. */
export interface RateCaller {
  /** The text of an API token or session as it was sent, valid or not. */
  readonly credential: string | null;
  /** Present where the entry point has looked up the token already. */
  readonly tokenId?: bigint;
  readonly ipAddress: string;
}

/** Counts a request; undefined when the operator has set no limit for such a caller. */
export type CountRequest = (caller: RateCaller) => Promise<RateVerdict | undefined>;

export const RATE_LIMITED_CODE = 'RATE_LIMITED';
export const RATE_LIMITED_MESSAGE = 'Too many requests. Please try again later.';

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };
const REQUESTS_MAX = 100_000_000;
const WINDOW_SECONDS_MAX = 86_400;

/** Reads `60/1m`, `60/m`, `1000/1h`, `10/30s`; undefined when it is none. */
export function parseRateLimit(text: string): RateLimit | undefined {
  const [, requests = '', amount = '', unit = ''] = /^(\d{1,9})\/(\d{0,5})([smhd])$/.exec(text) ?? [];
  const limit = { requests: Number(requests), windowSeconds: Number(amount || '1') * (UNIT_SECONDS[unit] ?? 0) };
  const isUsable =
    limit.requests >= 1 &&
    limit.requests <= REQUESTS_MAX &&
    limit.windowSeconds >= 1 &&
    limit.windowSeconds <= WINDOW_SECONDS_MAX;
  return isUsable ? limit : undefined;
}

/**
 * The fields of draft-ietf-httpapi-ratelimit-headers (11, of May 2026), and `Retry-After` with a refusal: the quota (q) and its
 * window (w), what remains (r) and the seconds until the window ends (t).
 */
export function rateLimitHeaders({ counted, limit, isAllowed, remaining, resetSeconds }: RateVerdict) {
  return {
    'RateLimit-Policy': `"${counted}";q=${limit.requests};w=${limit.windowSeconds}`,
    RateLimit: `"${counted}";r=${remaining};t=${resetSeconds}`,
    ...(isAllowed ? {} : { 'Retry-After': String(Math.max(1, resetSeconds)) }),
  };
}
