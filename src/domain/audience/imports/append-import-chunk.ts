/** Stores one piece of an import's file. Pieces may be repeated (by a retry) and come in any order. */
import { isAscii } from 'node:buffer';
import { inTransaction, type Context } from '../../context.ts';
import { fileTooLarge, uploadOver, wrongChunk } from './list-import-errors.ts';
import { insertChunk } from './import-chunk-store.ts';
import { CHUNK_BYTES_MAX, CHUNKS_MAX, type ListImport } from './list-import.ts';
import { lockOwnedImport } from './find-owned-import.ts';

export interface AppendImportChunkInput {
  readonly uid: string;
  /** Counted from 0. */
  readonly no: number;
  readonly bytes: Uint8Array;
}

const BYTES_PER_MEGABYTE = 1_000_000;

/**
 * Stores piece number `no` (1 byte to 1 MiB); a number that exists already changes nothing. Returns the import with the size so
 * far. Throws ValidationError (`IMPORT_CHUNK_WRONG`, `IMPORT_FILE_TOO_LARGE`), WrongStateError `IMPORT_NOT_UPLOADING`,
 * NotFoundError, ForeignResourceError.
 */
export async function appendImportChunk(ctx: Context, { uid, no, bytes }: AppendImportChunkInput): Promise<ListImport> {
  if (!Number.isInteger(no) || no < 0 || no >= CHUNKS_MAX)
    throw wrongChunk(`A piece has a number from 0 to ${CHUNKS_MAX - 1}.`);
  if (bytes.length === 0 || bytes.length > CHUNK_BYTES_MAX)
    throw wrongChunk(`A piece has 1 to ${CHUNK_BYTES_MAX} bytes.`);
  return inTransaction(ctx, async (inner) => {
    const found = await lockOwnedImport(inner, uid);
    if (found.status !== 'uploading') throw uploadOver(found.status);
    const bytesTotal = await insertChunk(inner.tx, found, { no, bytes, isAscii: isAscii(bytes) });
    const { importBytesMax } = ctx.installation.limits;
    if (bytesTotal > importBytesMax) throw fileTooLarge(Math.floor(importBytesMax / BYTES_PER_MEGABYTE));
    return { ...found, bytesTotal };
  });
}
