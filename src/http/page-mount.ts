/** A fixed page of the product itself. */
import type { Mount } from './http-server.ts';
import { PLAIN_POLICY } from './own-page.ts';
import { sendJson } from './send-json.ts';

/** Serves the page at exactly this path, to GET and HEAD. A page with scripts brings a policy that allows them. */
export function pageMount(prefix: string, page: string, policy: string = PLAIN_POLICY): Mount {
  const bytes = Buffer.from(page);
  return {
    prefix,
    exact: true,
    handle(req, res) {
      if (req.method !== 'GET' && req.method !== 'HEAD') {
        res.setHeader('Allow', 'GET, HEAD');
        return sendJson(res, 405, { message: 'Only GET is answered here.' });
      }
      res.setHeader('Content-Security-Policy', policy);
      res.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Content-Length': bytes.length });
      res.end(bytes);
    },
  };
}
