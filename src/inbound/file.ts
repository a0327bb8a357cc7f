/**
 * Public uploaded files at `/files/<token>/<name>`. Pictures may be displayed; everything else is only downloaded, and nothing
 * runs as a page of ours (hard case F6).
 */
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Context } from '../domain/context.ts';
import { isShown } from '../domain/files/file.ts';
import { readFileByToken, type ReadableFile } from '../domain/files/read-file.ts';
import { linkMount, type InboundMount } from './link-request.ts';
import { sendUnknownLink } from './notices.ts';

const CAGE = "default-src 'none'; sandbox; frame-ancestors 'none'";
/** A file never changes under its address. */
const CACHED = 'public, max-age=31536000, immutable';

/** `/files/<token>/<name>`; only the token counts, the name is for people. */
export function fileMount(ctx: Context): InboundMount {
  return linkMount(ctx, {
    prefix: '/files',
    methods: ['GET', 'HEAD'],
    async serve({ ctx: publicCtx, req, res, method, token }) {
      const file = await readFileByToken(publicCtx, token);
      if (!file) return sendUnknownLink(res);
      setFileHeaders(res, file);
      if (req.headers['if-none-match'] === etagOf(file)) return void res.writeHead(304).end();
      res.writeHead(200, { 'Content-Length': String(file.sizeBytes) });
      if (method === 'HEAD') return void res.end();
      // If the reader disconnects, reading ends; there is nobody to answer.
      await pipeline(file.pieces, res).catch(() => res.destroy());
    },
  });
}

function setFileHeaders(res: ServerResponse, file: ReadableFile): void {
  const shown = isShown(file.contentType);
  const ascii = file.name.replace(/[^\w. -]/g, '_');
  res.setHeader('Content-Type', shown ? file.contentType : 'application/octet-stream');
  res.setHeader(
    'Content-Disposition',
    `${shown ? 'inline' : 'attachment'}; filename="${ascii}"; filename*=UTF-8''${encodeURIComponent(file.name)}`,
  );
  res.setHeader('Content-Security-Policy', CAGE);
  res.setHeader('X-Content-Type-Options', 'nosniff');
  // Mails are shown on other people's pages.
  res.setHeader('Cross-Origin-Resource-Policy', 'cross-origin');
  res.setHeader('Cache-Control', CACHED);
  res.setHeader('ETag', etagOf(file));
}

function etagOf({ uid }: ReadableFile): string {
  return `"${uid}"`;
}
