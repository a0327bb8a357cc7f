/**
 * Requests that a browser sends for another site are refused, with or without a cookie: a token that a page got hold of
 * should not work from there either. What is no browser sends no Origin. A session's cookie, which a browser sends by
 * itself, needs more: proof that our own page asked.
 */
import type { IncomingMessage } from 'node:http';
import { sessionIn } from '../domain/accounts/session-cookie.ts';

/** Whether the request comes from this installation's own pages, or from no page at all. */
export function isOwnOrigin(req: IncomingMessage, baseUrl: string): boolean {
  const { origin, host } = req.headers;
  if (origin === undefined) return true;
  if (!URL.canParse(origin)) return false;
  return new URL(origin).host === host || origin === new URL(baseUrl).origin;
}

/**
 * The session of a request that one of our own pages made, by its cookie; undefined for every other. The proof is what
 * pages cannot forge: an Origin that is ours to the letter, scheme included, or, where browsers send none (reading from
 * the page's own origin), their word that it is the same origin. A sibling subdomain is another origin.
 */
export function sessionOf(req: IncomingMessage, baseUrl: string): string | undefined {
  return isFromOwnPage(req, baseUrl) ? sessionIn(req.headers.cookie, baseUrl) : undefined;
}

function isFromOwnPage(req: IncomingMessage, baseUrl: string): boolean {
  const { origin, host } = req.headers;
  const site = req.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') return false;
  if (origin === undefined) return site === 'same-origin';
  const own = new URL(baseUrl);
  // Behind a proxy the host may be another name of ours; never another scheme.
  return origin === own.origin || origin === `${own.protocol}//${host}`;
}
