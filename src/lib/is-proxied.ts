/** Whether a request came through a proxy: then the connection's address says nothing about the caller. */
import type { IncomingHttpHeaders } from 'node:http';

const PROXY_HEADERS = ['x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'forwarded', 'via'] as const;

/** Whether a proxy says that it stands in between. */
export function isProxied(headers: IncomingHttpHeaders): boolean {
  return PROXY_HEADERS.some((name) => headers[name] !== undefined);
}
