/** Plain pages of the product itself for browsers. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { htmlPage } from '../lib/html-page.ts';
import { sendJson } from './send-json.ts';

/** Without scripts, and nothing from anywhere. */
export const PLAIN_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const NOT_FOUND = Buffer.from(
  htmlPage(
    'There is nothing at this address',
    '<h1>There is nothing at this address</h1>\n<p>Check the address. A link in a mail may be cut off: copy all of it.</p>',
  ),
);

/** Ends the answer with the page. */
export function sendOwnPage(res: ServerResponse, status: number, page: string | Buffer): void {
  const bytes = Buffer.from(page);
  res.setHeader('Content-Security-Policy', PLAIN_POLICY);
  res.writeHead(status, { 'Content-Type': 'text/html; charset=utf-8', 'Content-Length': bytes.length });
  res.end(bytes);
}

/** An unknown address: a page for a browser, JSON for all others. */
export function sendNotFound(req: IncomingMessage, res: ServerResponse): void {
  res.setHeader('Vary', 'Accept');
  if (wantsPage(req)) return sendOwnPage(res, 404, NOT_FOUND);
  sendJson(res, 404, { message: 'There is nothing at this address.' });
}

/** Browsers name `text/html` when a person opens an address; programs do not. */
function wantsPage({ method, headers }: IncomingMessage): boolean {
  return (method === 'GET' || method === 'HEAD') && (headers.accept ?? '').includes('text/html');
}
