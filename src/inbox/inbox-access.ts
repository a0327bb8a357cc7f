/** Who may see the inbox: users of this machine, and administrators. */
import type { IncomingMessage } from 'node:http';
import { isProxied } from '../lib/is-proxied.ts';

const LOOPBACK_ADDRESS = /^(?:127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/i;
/** A web page whose host name resolves to this machine (DNS rebinding) sends its own host name. */
const LOCAL_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i;

/** The caller is a program on this machine that used a local host name. */
export function isLocalCaller(req: IncomingMessage): boolean {
  if (!LOOPBACK_ADDRESS.test(req.socket.remoteAddress ?? '')) return false;
  if (isProxied(req.headers)) return false;
  return LOCAL_HOST.test(req.headers.host ?? '');
}

/** A request that changes something comes from our own pages or from no browser at all. */
export function isSameOrigin(req: IncomingMessage): boolean {
  const site = req.headers['sec-fetch-site'];
  // The browser's own statement; behind a proxy the host may lack its port.
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  const { origin, host } = req.headers;
  return (
    origin === undefined || (host !== undefined && URL.canParse(origin) && new URL(origin).host === host.toLowerCase())
  );
}
