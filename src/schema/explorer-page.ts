/**
 * What a browser sees at `/graphql`: a light page that leads to the reference and to the explorer at `/graphql/explorer`, which is
 * GraphiQL as one page without external files. The explorer has nine megabytes: it is made at the first request for it, and sent with a
 * policy that allows only its own script, by digest, and requests to this server.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Worker } from 'node:worker_threads';
import { htmlPage } from '../lib/html-page.ts';
import { preparePage, sendPreparedPage, zippedPage, type PreparedPage } from '../lib/prepared-page.ts';
import type { ExplorerPage } from './explorer-worker.ts';

interface Made {
  readonly page: PreparedPage;
  readonly policy: string;
}

const EXPLORER_PATH = '/graphql/explorer';
const START_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Addresses are relative: the installation may be below a path. */
const START = `<h1>GraphQL</h1>
<p>This is the address for GraphQL requests, over HTTP, server-sent events and websockets. A program sends, for example:</p>
<pre><code>curl $BASE_URL/graphql -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\
  -d '{"query": "{ me { ... on User { email } ... on Error { code message } } }"}'</code></pre>
<ul>
<li><a href="graphql/explorer">Open the explorer</a>: write and run operations, with completion and the documentation at hand. It
is a program of 3 MB.</li>
<li><a href="docs/graphql">Read the reference</a>: every operation with its arguments and the right it needs, and every type.</li>
<li><a href="docs">REST reference</a>: the same for REST clients.</li>
</ul>`;
const STYLE = '<style>pre{white-space:pre-wrap}</style>';

let start: Promise<PreparedPage> | undefined;
let made: Promise<Made> | undefined;

/** Whether a browser wants a page, and not a client an answer. */
export function wantsPage(req: IncomingMessage): boolean {
  return (
    req.method === 'GET' && (req.headers.accept ?? '').includes('text/html') && !(req.url ?? '').includes('query=')
  );
}

/** Sends the explorer at its own path, and the light page elsewhere. */
export async function sendGraphqlPage(req: IncomingMessage, res: ServerResponse): Promise<void> {
  res.setHeader('Vary', 'Accept, Accept-Encoding');
  if (req.url?.split('?', 1)[0] === EXPLORER_PATH) return sendExplorer(req, res);
  start ??= preparePage(htmlPage('Mailwright: GraphQL', START, STYLE), 'text/html; charset=utf-8');
  res.setHeader('Content-Security-Policy', START_POLICY);
  await sendPreparedPage(req, res, await start);
}

/** Sends the page, compressed if possible. */
async function sendExplorer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  made ??= makePage();
  const { page, policy } = await made.catch((error: unknown) => {
    made = undefined;
    throw error;
  });
  res.setHeader('Content-Security-Policy', policy);
  await sendPreparedPage(req, res, page);
}

async function makePage(): Promise<Made> {
  const worker = new Worker(new URL('./explorer-worker.ts', import.meta.url), { env: {}, execArgv: [] });
  try {
    const { zipped, policy, etag }: ExplorerPage = (await once(worker, 'message'))[0];
    return { page: zippedPage(zipped, { tag: etag, contentType: 'text/html; charset=utf-8' }), policy };
  } finally {
    await worker.terminate();
  }
}
