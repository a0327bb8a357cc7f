/** How a driver talks to the web interface of its vendor: over kept-open connections that Mailwright opens and guards. */
import type { OutboundPool, PooledAnswer, PooledRequest } from '../lib/outbound-pool.ts';

export { NoAnswerError } from '../lib/outbound-pool.ts';

export type VendorRequest = PooledRequest;
export type VendorAnswer = PooledAnswer;
export type VendorHttp = OutboundPool;

/** Opens nothing yet. `origin` is an http or https address without a path. */
export type OpenVendorHttp = (
  origin: string,
  options: { readonly connections: number; readonly timeoutMs: number },
) => VendorHttp;

/** The JSON value of an answer; undefined when it is no JSON or broken off. */
export function jsonOf({ body, isComplete }: VendorAnswer): unknown {
  if (!isComplete) return undefined;
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** The wait that an answer asks for by `Retry-After` (RFC 9110 10.2.3), in whole seconds. */
export function retryAfterSeconds({ headers }: VendorAnswer, now = Date.now()): number | undefined {
  const text = headers['retry-after']?.trim();
  if (!text) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1_000));
}
