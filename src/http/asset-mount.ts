/** Serves one document that changes with the program's version only: a script, a style sheet, a description. */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Mount } from './http-server.ts';
import { sendJson } from './send-json.ts';

export interface Asset {
  readonly path: string;
  readonly contentType: string;
  /** Asked for at every request: what is large is better read again than kept. */
  read(): Promise<Buffer | string>;
}

const compress = promisify(gzip);
// Below this it fits into one packet anyway.
const COMPRESSED_BYTES_MIN = 1_400;

/** Answers GET and HEAD at exactly this path; a client that has it already gets a 304. */
export function assetMount({ path, contentType, read }: Asset): Mount {
  return {
    prefix: path,
    exact: true,
    async handle(req, res) {
      if (req.method !== 'GET' && req.method !== 'HEAD') {
        res.setHeader('Allow', 'GET, HEAD');
        // Not a 405: one of these lies among the addresses of the REST interface, whose contract has none.
        return sendJson(res, 404, { message: 'This address takes GET.' });
      }
      const content = Buffer.from(await read());
      const tag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;
      res.setHeader('ETag', tag);
      res.setHeader('Cache-Control', 'no-cache');
      res.setHeader('Vary', 'Accept-Encoding');
      if (req.headers['if-none-match'] === tag) return void res.writeHead(304).end();
      const isSmall = content.length < COMPRESSED_BYTES_MIN;
      const takesGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(req.headers['accept-encoding'] ?? '');
      const sent = takesGzip && !isSmall ? await compress(content) : content;
      if (sent !== content) res.setHeader('Content-Encoding', 'gzip');
      res.writeHead(200, { 'Content-Type': contentType, 'Content-Length': sent.length });
      res.end(req.method === 'HEAD' ? undefined : sent);
    },
  };
}
