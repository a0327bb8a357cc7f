/** Counts a request once, before its work is done, and adds the rest of the limit to the answer. */
import type { ServerResponse } from 'node:http';
import { rateLimitHeaders, RATE_LIMITED_MESSAGE, type CountRequest } from '../lib/rate-limit.ts';
import { RestError } from './errors.ts';

export interface RequestGate {
  /** Counts the request for this token unless it was counted. Throws RestError 429. */
  pass(token: string | null): Promise<void>;
}

interface Asking {
  readonly res: ServerResponse;
  readonly ipAddress: string;
}

/** The gate of one request; without a limit it allows everything. */
export function requestGate(countRequest: CountRequest | undefined, { res, ipAddress }: Asking): RequestGate {
  let isCounted = countRequest === undefined;
  return {
    async pass(token) {
      if (isCounted || !countRequest) return;
      isCounted = true;
      const verdict = await countRequest({ credential: token, ipAddress });
      if (!verdict) return;
      for (const [name, value] of Object.entries(rateLimitHeaders(verdict))) res.setHeader(name, value);
      if (!verdict.isAllowed) throw new RestError(429, { message: RATE_LIMITED_MESSAGE });
    },
  };
}
