/**
 * The GraphQL explorer: GraphiQL as one page without external files. It is made at the first request, and sent with a policy that
 * allows only its own script, by digest, and requests to this server.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Worker } from 'node:worker_threads';
import { sendPreparedPage, zippedPage, type PreparedPage } from '../lib/prepared-page.ts';
import type { ExplorerPage } from './explorer-worker.ts';

interface Made {
  readonly page: PreparedPage;
  readonly policy: string;
}

let made: Promise<Made> | undefined;

/** Whether a browser wants a page, and not a client an answer. */
export function wantsExplorer(req: IncomingMessage): boolean {
  return (
    req.method === 'GET' && (req.headers.accept ?? '').includes('text/html') && !(req.url ?? '').includes('query=')
  );
}

/** Sends the page, compressed if possible; it has nine megabytes. */
export async function sendExplorer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  made ??= makePage();
  const { page, policy } = await made.catch((error: unknown) => {
    made = undefined;
    throw error;
  });
  res.setHeader('Content-Security-Policy', policy);
  res.setHeader('Vary', 'Accept, Accept-Encoding');
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
