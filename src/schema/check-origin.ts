/**
 * Requests that a browser sends for another site are refused, with or without a cookie: a stolen token should not work from there
 * either. Other programs send no Origin. A session's cookie, which browsers send by themselves, needs more: see `sessionOf` of
 * the accounts.
 */
import type { IncomingMessage } from 'node:http';

/** Whether the request comes from this installation's own pages, or not from a page. */
export function isOwnOrigin(req: IncomingMessage, baseUrl: string): boolean {
  const { origin, host } = req.headers;
  if (origin === undefined) return true;
  if (!URL.canParse(origin)) return false;
  return new URL(origin).host === host || origin === new URL(baseUrl).origin;
}
