/** Who may see the inbox: users of this machine, and administrators. */
import type { IncomingMessage } from 'node:http';

const LOOPBACK_ADDRESS = /^(?:127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/i;
/** A page of the world whose name resolves to this machine (DNS rebinding) comes with a name of its own. */
const LOCAL_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i;
/** Where a proxy stands between, the socket's address says nothing of the caller. */
const PROXY_HEADERS = ['x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'forwarded', 'via'] as const;

/** The caller is a program on this machine that asked for this machine by name. */
export function isLocalCaller(req: IncomingMessage): boolean {
  if (!LOOPBACK_ADDRESS.test(req.socket.remoteAddress ?? '')) return false;
  if (PROXY_HEADERS.some((name) => req.headers[name] !== undefined)) return false;
  return LOCAL_HOST.test(req.headers.host ?? '');
}

/** A request that changes something comes from our own pages or from no browser at all. */
export function isSameOrigin(req: IncomingMessage): boolean {
  const site = req.headers['sec-fetch-site'];
  // The browser's own word; the host may be without its port behind a proxy.
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  const { origin, host } = req.headers;
  return (
    origin === undefined || (host !== undefined && URL.canParse(origin) && new URL(origin).host === host.toLowerCase())
  );
}
