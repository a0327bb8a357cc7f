/** One request and its answer: request id, caller, log, the headers of every answer, one log line at the end. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../lib/log.ts';

// The request ids that a proxy or client may choose; anything else is replaced and never logged.
const REQUEST_ID_PATTERN = /^[A-Za-z0-9._-]{1,64}$/;

export interface Exchange {
  readonly requestId: string;
  readonly ipAddress: string;
  /** Every line carries the request id. */
  readonly log: Log;
  /** The pattern that matched, for the log: the path itself may contain addresses and tokens. */
  route: string;
}

/** An answered request, for measurements; without anything of the request itself. */
export interface AnsweredRequest {
  readonly method: string;
  /** The pattern. */
  readonly route: string;
  readonly status: number;
  readonly seconds: number;
}

interface ExchangeOptions {
  readonly log: Log;
  readonly ipAddress: string;
  readonly httpsOnly: HttpsOnly;
  readonly observe?: ((request: AnsweredRequest) => void) | undefined;
}

/** For which hosts browsers must use only https: none, this host, or also its subdomains. */
export type HttpsOnly = 'nothing' | 'host' | 'subdomains';

/** RFC 6797. Browsers' preload lists ask for two years. */
const STRICT_TRANSPORT: Readonly<Record<HttpsOnly, Readonly<Record<string, string>>>> = {
  nothing: {},
  host: { 'Strict-Transport-Security': 'max-age=63072000' },
  subdomains: { 'Strict-Transport-Security': 'max-age=63072000; includeSubDomains' },
};

/** Headers of every answer, also to unreadable requests. */
export function safetyHeaders(httpsOnly: HttpsOnly): Readonly<Record<string, string>> {
  return {
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    // Pages with scripts or styles of their own set a wider policy; nothing of ours may ever be framed.
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'X-Frame-Options': 'DENY',
    ...STRICT_TRANSPORT[httpsOnly],
  };
}

/** Gives the request its id, sets the default headers, and logs one line when the answer was sent or broke off. */
export function beginExchange(req: IncomingMessage, res: ServerResponse, exchangeOptions: ExchangeOptions): Exchange {
  const { log, ipAddress, httpsOnly, observe } = exchangeOptions;
  const startedAt = performance.now();
  const given = req.headers['x-request-id'];
  const requestId = typeof given === 'string' && REQUEST_ID_PATTERN.test(given) ? given : randomUUID();
  const exchange: Exchange = { requestId, ipAddress, log: log.with({ requestId }), route: '-' };
  res.setHeader('X-Request-Id', requestId);
  for (const [name, value] of Object.entries(safetyHeaders(httpsOnly))) res.setHeader(name, value);
  res.on('close', () => {
    const durationMs = Math.round((performance.now() - startedAt) * 10) / 10;
    const complete = res.writableFinished;
    const { method = '' } = req;
    observe?.({ method, route: exchange.route, status: res.statusCode, seconds: durationMs / 1_000 });
    exchange.log.info('http.request', {
      method,
      route: exchange.route,
      status: res.statusCode,
      durationMs,
      ...(complete ? {} : { complete }),
    });
  });
  return exchange;
}
