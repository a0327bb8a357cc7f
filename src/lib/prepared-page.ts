/**
 * A document that is the same for everybody: made once, compressed once, and every answer uses the same buffer. So many requests
 * and slow readers cost no extra memory.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';

export interface PreparedPage {
  /** A strong ETag. */
  readonly tag: string;
  readonly contentType: string;
  /** Absent: too small to be worth it. */
  readonly zipped: Buffer | undefined;
  /** For a client without gzip. */
  plain(): Promise<Buffer>;
}

const compress = promisify(gzip);
const expand = promisify(gunzip);
/** Below this it fits into one packet anyway. */
const COMPRESSED_BYTES_MIN = 1_400;

/** The page of this content. */
export async function preparePage(content: Buffer | string, contentType: string): Promise<PreparedPage> {
  const bytes = Buffer.from(content);
  const tag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
  const zipped = bytes.length < COMPRESSED_BYTES_MIN ? undefined : await compress(bytes);
  return { tag, contentType, zipped, plain: () => Promise.resolve(bytes) };
}

/**
 * The page of content that is stored compressed: nearly all clients take it so; the plain form is made for the first client
 * without gzip.
 */
export function zippedPage(
  zipped: Uint8Array,
  { tag, contentType }: { tag: string; contentType: string },
): PreparedPage {
  let expanded: Promise<Buffer> | undefined;
  return { tag, contentType, zipped: Buffer.from(zipped), plain: () => (expanded ??= expand(zipped)) };
}

/** Answers a GET or HEAD with the page, or with a 304 when the client has it. Set further headers before. */
export async function sendPreparedPage(req: IncomingMessage, res: ServerResponse, page: PreparedPage): Promise<void> {
  const { tag, contentType, zipped } = page;
  res.setHeader('ETag', tag);
  res.setHeader('Cache-Control', 'no-cache');
  if (!res.hasHeader('Vary')) res.setHeader('Vary', 'Accept-Encoding');
  if (req.headers['if-none-match'] === tag) return void res.writeHead(304).end();
  const isZipped = zipped !== undefined && takesGzip(req);
  const sent = isZipped ? zipped : await page.plain();
  const headers: OutgoingHttpHeaders = { 'Content-Type': contentType, 'Content-Length': sent.length };
  res.writeHead(200, isZipped ? { ...headers, 'Content-Encoding': 'gzip' } : headers);
  res.end(req.method === 'HEAD' ? undefined : sent);
}

function takesGzip({ headers }: IncomingMessage): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(headers['accept-encoding']?.toString() ?? '');
}
