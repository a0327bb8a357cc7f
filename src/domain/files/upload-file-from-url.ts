/**
 * Uploads the content of an address: through the guard for public addresses (decision D44), without redirects, within limits of
 * time and size (hard case C13). Never completely in memory.
 */
import { z } from 'zod';
import type { Context } from '../context.ts';
import { ExpectedError, messageOf } from '../../lib/errors.ts';
import { openOutbound, URL_LENGTH_MAX } from '../../lib/outbound-request.ts';
import { deleteFile } from './delete-file.ts';
import { cannotFetch } from './file-errors.ts';
import { PIECE_BYTES_MAX, type StoredFile } from './file.ts';
import { appendToFile, finishFileUpload, startFileUpload } from './upload-file.ts';

/** An address that `openOutbound` takes. */
export const fileUrlInput = z.string().max(URL_LENGTH_MAX);

/** From the look-up of the name to the last byte. */
const FETCH_MS_MAX = 10_000;

/**
 * Downloads and stores it. Throws ValidationError on `url` (`FILE_NOT_FETCHED`) and what uploading throws; a failed upload leaves
 * nothing.
 */
export async function uploadFileFromUrl(
  ctx: Context,
  { url, subdirectory }: { url: string; subdirectory?: string | null | undefined },
): Promise<StoredFile> {
  const source = await open(ctx, url);
  try {
    const file = await startFileUpload(ctx, { name: nameIn(source.url), subdirectory });
    try {
      let no = 0;
      for await (const piece of inPieces(source.body))
        await appendToFile(ctx, { uid: file.uid, no: no++, bytes: piece });
      return await finishFileUpload(ctx, { uid: file.uid });
    } catch (error) {
      await deleteFile(ctx, { uid: file.uid }).catch(() => undefined);
      throw error instanceof ExpectedError
        ? error
        : cannotFetch(`The file could not be fetched completely. ${messageOf(error)}`);
    }
  } finally {
    source.close();
  }
}

async function open(ctx: Context, url: string) {
  try {
    return await openOutbound(url, {
      allowed: ctx.installation.outboundAllowHosts ?? [],
      timeoutMs: FETCH_MS_MAX,
      bytesMax: ctx.installation.limits.fileBytesMax,
    });
  } catch (error) {
    throw cannotFetch(messageOf(error));
  }
}

/** The last part of the address's path, or a default name. */
function nameIn(url: URL): string {
  const last = url.pathname.split('/').at(-1) ?? '';
  try {
    return decodeURIComponent(last).replace(/[\p{C}\p{Zl}\p{Zp}\\/:*?"<>|%]/gu, '_') || 'file';
  } catch {
    return 'file';
  }
}

async function* inPieces(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    let rest = chunk;
    while (size + rest.length >= PIECE_BYTES_MAX) {
      const taken = PIECE_BYTES_MAX - size;
      yield Buffer.concat([...waiting, rest.subarray(0, taken)]);
      rest = rest.subarray(taken);
      [waiting, size] = [[], 0];
    }
    if (rest.length > 0) waiting.push(rest);
    size += rest.length;
  }
  if (size > 0) yield Buffer.concat(waiting);
}
