/**
 * The files of a plugin's folder `resources/public`, for everybody, while the plugin is active. A name is made of plain parts only, and what
 * it leads to must be in the folder: links that lead out of it are no files. Html and pictures with scripts in them are inert.
 */
import { createHash } from 'node:crypto';
import { open, realpath, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { LivePlugin } from '../../domain/plugin-host.ts';
import { sendNothing, type PluginRequest } from './plugin-request.ts';

const FOLDER = path.join('resources', 'public');
/** Letters, digits and `.`, `_`, `-`; no hidden file, and nothing that a file system reads in another way. */
const PART = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/;
const PARTS_MAX = 10;
/** Larger ones are downloads, which belong elsewhere. */
const FILE_BYTES_MAX = 20 * 1024 * 1024;

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  json: 'application/json; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  html: 'text/html; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  ico: 'image/x-icon',
  woff2: 'font/woff2',
  pdf: 'application/pdf',
};

/** For what is opened by itself: no scripts, and an origin of its own. */
export const INERT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'";

/** The address of a file, with what browsers know its version by. */
export function fileUrlOf(base: string, { fingerprint }: LivePlugin, name: string): string {
  return `${base}/files/${encodeURI(name)}?v=${encodeURIComponent(fingerprint)}`;
}

export async function servePluginFile({ req, res, plugin, path: asked }: PluginRequest): Promise<void> {
  if (req.method !== 'GET' && req.method !== 'HEAD') {
    res.setHeader('Allow', 'GET, HEAD');
    return sendNothing(res, 405, 'Files are only read.');
  }
  const file = await openFile(plugin, asked);
  if (!file) return sendNothing(res, 404, 'The plugin has no such file.');
  try {
    const { size, mtimeMs } = await file.handle.stat();
    const digest = createHash('sha256').update(`${plugin.fingerprint} ${asked} ${size} ${mtimeMs}`).digest('base64url');
    const tag = `"${digest.slice(0, 22)}"`;
    const version = new URLSearchParams((req.url ?? '').split('?')[1] ?? '').get('v');
    const type = TYPES[path.extname(file.name).slice(1).toLowerCase()];
    const headers = {
      'Content-Type': type ?? 'application/octet-stream',
      'Content-Security-Policy': INERT_POLICY,
      'Cross-Origin-Resource-Policy': 'same-origin',
      'Cache-Control': version === plugin.fingerprint ? 'public, max-age=31536000, immutable' : 'no-cache',
      ETag: tag,
      ...(type === undefined ? { 'Content-Disposition': 'attachment' } : {}),
    };
    if (req.headers['if-none-match'] === tag) return void res.writeHead(304, headers).end();
    res.writeHead(200, { ...headers, 'Content-Length': size });
    if (req.method === 'HEAD') return void res.end();
    await pipeline(file.handle.createReadStream({ autoClose: false }), res).catch(() => void res.destroy());
  } finally {
    await file.handle.close();
  }
}

interface OpenedFile {
  readonly name: string;
  readonly handle: FileHandle;
}

/** The open file; undefined: there is none, or it is none of the plugin's. */
async function openFile({ folder }: LivePlugin, asked: string): Promise<OpenedFile | undefined> {
  const parts = partsOf(asked);
  if (!parts) return undefined;
  try {
    const root = await realpath(path.join(folder, FOLDER));
    const name = await realpath(path.join(root, ...parts));
    if (!name.startsWith(root + path.sep)) return undefined;
    const handle = await open(name, 'r');
    const found = await handle.stat();
    if (found.isFile() && found.size <= FILE_BYTES_MAX) return { name, handle };
    await handle.close();
    return undefined;
  } catch {
    return undefined;
  }
}

/** Decoded once; undefined for anything but plain names. */
function partsOf(asked: string): readonly string[] | undefined {
  const parts = decoded(asked)?.split('/').slice(1) ?? [];
  return parts.length > 0 && parts.length <= PARTS_MAX && parts.every((part) => PART.test(part)) ? parts : undefined;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
