/** The uploaded file of an import as a stream of bytes, never complete in memory. */
import type { Queryable } from '../../../db/database.ts';
import { chunkMissing } from './list-import-errors.ts';
import {
  chunkSizes,
  chunksBeyondAscii,
  readStretch,
  rewriteChunk,
  type ChunkSize,
  type Stretch,
} from './import-chunk-store.ts';
import type { ImportKey } from './list-import.ts';

export interface FilePiece {
  readonly bytes: Buffer;
  readonly isLast: boolean;
}

/** One of the usual size is enough; several help where a client sends tiny ones. */
const STRETCH_CHUNKS = 4;
/** Bytes per read: the driver makes several copies, and small ones are freed soonest. */
const STRETCH_BYTES = 64 * 1024;

/** The file from byte `offset` on, in pieces; nothing when the offset is its end. */
export async function* readImportFile(db: Queryable, key: ImportKey, offset: number): AsyncGenerator<FilePiece> {
  const stretches = stretchesFrom(await chunkSizes(db, key), offset);
  // The next piece is read while this one is processed.
  let coming = stretches[0] && readStretch(db, key, stretches[0]);
  for (let index = 0; coming; index++) {
    const bytes = await coming;
    const following = stretches[index + 1];
    coming = following && readStretch(db, key, following);
    // Awaited in the next round, or never when the reader stops here.
    coming?.catch(() => undefined);
    if (bytes) yield { bytes, isLast: following === undefined };
  }
}

function stretchesFrom(chunks: readonly ChunkSize[], offset: number): Stretch[] {
  const stretches: Stretch[] = [];
  let start = 0;
  for (const { no, size } of chunks) {
    for (let from = Math.max(0, offset - start); from < size; from += STRETCH_BYTES) {
      stretches.push({ no, from, size: Math.min(STRETCH_BYTES, size - from) });
    }
    start += size;
  }
  return stretches;
}

/** The beginning of the file, at least `wanted` bytes if it has them. */
export async function readFileStart(db: Queryable, key: ImportKey, wanted: number): Promise<FilePiece> {
  const parts: Buffer[] = [];
  let size = 0;
  let isLast = true;
  for await (const piece of readImportFile(db, key, 0)) {
    parts.push(piece.bytes);
    size += piece.bytes.length;
    isLast = piece.isLast;
    if (size >= wanted) break;
  }
  return { bytes: Buffer.concat(parts), isLast };
}

/** A part of the file with more than ASCII; undefined when the file is plain ASCII. */
export async function stretchBeyondAscii(db: Queryable, key: ImportKey): Promise<Buffer | undefined> {
  // The chunks are joined, because a character may be split between neighbouring ones.
  const chunks = await chunksBeyondAscii(db, key, STRETCH_CHUNKS);
  return chunks.length === 0 ? undefined : Buffer.concat(chunks);
}

/** Refuses a file with a missing chunk. */
export async function checkUploadComplete(db: Queryable, key: ImportKey): Promise<void> {
  const sizes = await chunkSizes(db, key);
  const hole = sizes.findIndex(({ no }, index) => no !== index);
  if (hole !== -1) throw chunkMissing(hole);
}

/** Rewrites the file as UTF-8, so that one reader reads every file. Returns its new size. */
export async function rewriteAsUtf8(db: Queryable, key: ImportKey, encoding: string): Promise<number> {
  const decoder = new TextDecoder(encoding);
  const sizes = await chunkSizes(db, key);
  let total = 0;
  for (const [index, { no, size }] of sizes.entries()) {
    const chunk = await readStretch(db, key, { no, from: 0, size });
    const bytes = Buffer.from(decoder.decode(chunk, { stream: index < sizes.length - 1 }), 'utf8');
    total += bytes.length;
    await rewriteChunk(db, key, { no, bytes });
  }
  return total;
}
