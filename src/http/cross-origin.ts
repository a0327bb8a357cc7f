/**
 * Pages of other origins (decision D59): browsers let them read an answer only if it names their origin. No answer ever allows
 * credentials: a browser sends no cookie along, and a token has to be given by the page itself.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Mount } from './http-server.ts';

/** Origins as browsers send them (`https://app.example`), or all. */
export type AllowedOrigins = readonly string[] | 'all';

const METHODS = 'GET, POST, PATCH, PUT, DELETE';
/** What callers of the interfaces send besides the headers that browsers allow everywhere. */
const REQUEST_HEADERS = 'Authorization, Content-Type, Idempotency-Key, X-Api-Dialect, X-Request-Id';
/** What a page may read of an answer besides its body. */
const ANSWER_HEADERS =
  'Content-Disposition, Link, RateLimit, RateLimit-Policy, Retry-After, X-Ignored-Parameters, X-Request-Id, X-Total-Count';
/** Browsers keep the answer to their question so long; Chromium not longer. */
const MAX_AGE_SECONDS = 7_200;

/** The mount, whose answers say which pages may read them; `allowed` is asked with the path. */
export function crossOrigin(mount: Mount, allowed: (path: string) => AllowedOrigins): Mount {
  return {
    ...mount,
    handle(req, res, exchange) {
      allowOrigin(req, res, allowed((req.url ?? '/').split('?', 1)[0] ?? '/'));
      return mount.handle(req, res, exchange);
    },
  };
}

function allowOrigin(req: IncomingMessage, res: ServerResponse, allowed: AllowedOrigins): void {
  const { origin } = req.headers;
  if (allowed === 'all') res.setHeader('Access-Control-Allow-Origin', '*');
  else {
    // A cache must not give one origin the answer for another.
    if (allowed.length > 0) res.setHeader('Vary', 'Origin');
    if (origin === undefined || !allowed.includes(origin)) return;
    res.setHeader('Access-Control-Allow-Origin', origin);
  }
  res.setHeader('Access-Control-Expose-Headers', ANSWER_HEADERS);
  if (req.method !== 'OPTIONS') return;
  res.setHeader('Access-Control-Allow-Methods', METHODS);
  res.setHeader('Access-Control-Allow-Headers', REQUEST_HEADERS);
  res.setHeader('Access-Control-Max-Age', String(MAX_AGE_SECONDS));
}
