/**
 * The GraphQL explorer: GraphiQL as one page that needs nothing from elsewhere. It is made once, at the first visit,
 * and sent with a policy that lets it run its own script, by digest, and talk to this server only.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Worker } from 'node:worker_threads';
import { createGunzip } from 'node:zlib';
import type { ExplorerPage } from './explorer-worker.ts';

const PAGE = { 'Content-Type': 'text/html; charset=utf-8' };

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
  const { zipped, policy, etag } = await made.catch((error: unknown) => {
    made = undefined;
    throw error;
  });
  res.setHeader('Content-Security-Policy', policy);
  res.setHeader('ETag', etag);
  res.setHeader('Cache-Control', 'no-cache');
  res.setHeader('Vary', 'Accept, Accept-Encoding');
  if (req.headers['if-none-match'] === etag) return void res.writeHead(304).end();
  if (/\bgzip\b/.test(req.headers['accept-encoding']?.toString() ?? '')) {
    res.writeHead(200, { ...PAGE, 'Content-Length': zipped.byteLength, 'Content-Encoding': 'gzip' });
    return void res.end(zipped);
  }
  res.writeHead(200, PAGE);
  // A reader who goes away in the middle is nobody's fault.
  await pipeline(Readable.from([zipped]), createGunzip(), res).catch(() => undefined);
}

async function makePage(): Promise<ExplorerPage> {
  const worker = new Worker(new URL('./explorer-worker.ts', import.meta.url), { env: {}, execArgv: [] });
  try {
    const [page] = await once(worker, 'message');
    return page;
  } finally {
    await worker.terminate();
  }
}
