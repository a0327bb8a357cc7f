/**
 * The GraphQL explorer: GraphiQL as one page that needs nothing from elsewhere. It is made once, at the first visit,
 * and sent with a policy that lets it run its own script, by digest, and talk to this server only.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { renderGraphiQL } from '@graphql-yoga/render-graphiql';

const GREETING = `# Welcome to Mailwright. Put your API token into the "Headers" tab below:
#   { "Authorization": "Bearer <token>" }
query Me {
  me {
    email
    customer {
      name
    }
  }
}
`;

interface ExplorerPage {
  readonly html: Buffer;
  readonly zipped: Buffer;
  readonly policy: string;
  readonly etag: string;
}

let made: Promise<ExplorerPage> | undefined;

/** Whether a browser asks for a page, and not a client for an answer. */
export function wantsExplorer(req: IncomingMessage): boolean {
  return (
    req.method === 'GET' && (req.headers.accept ?? '').includes('text/html') && !(req.url ?? '').includes('query=')
  );
}

/** Answers with the page, zipped where that is understood; it has nine megabytes. */
export async function sendExplorer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  made ??= makePage();
  const { html, zipped, policy, etag } = await made;
  res.setHeader('Content-Security-Policy', policy);
  res.setHeader('ETag', etag);
  res.setHeader('Cache-Control', 'no-cache');
  res.setHeader('Vary', 'Accept, Accept-Encoding');
  if (req.headers['if-none-match'] === etag) return void res.writeHead(304).end();
  const takesGzip = /\bgzip\b/.test(req.headers['accept-encoding']?.toString() ?? '');
  const body = takesGzip ? zipped : html;
  res.writeHead(200, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': body.byteLength,
    ...(takesGzip ? { 'Content-Encoding': 'gzip' } : {}),
  });
  res.end(body);
}

async function makePage(): Promise<ExplorerPage> {
  const page = renderGraphiQL({ title: 'Mailwright', defaultQuery: GREETING }).trim();
  const html = Buffer.from(page);
  const etag = `"${createHash('sha256').update(html).digest('base64url')}"`;
  return { html, zipped: await promisify(gzip)(html), policy: policyFor(page), etag };
}

function policyFor(page: string): string {
  const script = page.slice(page.indexOf('<script>') + '<script>'.length, page.lastIndexOf('</script>'));
  const digest = createHash('sha256').update(script).digest('base64');
  return [
    "default-src 'none'",
    `script-src 'sha256-${digest}' blob:`,
    // The editor writes its styles into the page.
    "style-src 'unsafe-inline'",
    "img-src 'self' data:",
    'font-src data:',
    'worker-src blob:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
