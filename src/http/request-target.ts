/** The target of a request, where it is not given in the usual way. */
import type { IncomingMessage } from 'node:http';

/** Proxies send the whole address, and a server has to accept that (RFC 9112 3.2.2): splits it into path and host. */
export function takeAbsoluteForm(req: IncomingMessage): void {
  const parts = /^https?:\/\/([^/?#]+)([^#]*)/i.exec(req.url ?? '');
  if (!parts) return;
  const [, host, path = ''] = parts;
  req.headers.host = host;
  req.url = path.startsWith('/') ? path : `/${path}`;
}

/**
 * Whether an upgrade that is asked for is one to a websocket. Others are offers that a server may ignore (RFC 9110 7.8):
 * Java's client offers HTTP/2 (`h2c`) with every first request over plain HTTP.
 */
export function wantsSocket({ headers }: IncomingMessage): boolean {
  return /(?:^|,)\s*websocket\s*(?:,|$)/i.test(headers.upgrade ?? '');
}
