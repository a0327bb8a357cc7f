/** Reads a public file by the token in its address, piece by piece. */
import type { Context } from '../context.ts';
import { createConcurrencyLimit } from '../../lib/concurrency-limit.ts';
import { findFileByToken, readPiece } from './file-store.ts';
import type { StoredFile } from './file.ts';

export interface ReadableFile extends StoredFile {
  /** The bytes in order; each piece is read when the one before was taken. */
  readonly pieces: AsyncIterable<Buffer>;
}

/** Memory per slow reader, and several times as much during a read. */
const PART_BYTES = 131_072;
/** Parts that are read at the same time, shared by all readers. */
const PARTS_READ_MAX = 2;
const reading = createConcurrencyLimit({ runningMax: PARTS_READ_MAX });

const TOKEN = /^[0-9a-f]{32}$/;

/** The file, or undefined when no complete file has this token. */
export async function readFileByToken(ctx: Context, token: string): Promise<ReadableFile | undefined> {
  if (!TOKEN.test(token)) return undefined;
  const file = await findFileByToken(ctx.db, token);
  return file && { ...file, pieces: piecesOf(ctx, file) };
}

async function* piecesOf(ctx: Context, file: StoredFile): AsyncGenerator<Buffer> {
  let [no, from] = [0, 0];
  for (;;) {
    const part = { no, from, length: PART_BYTES };
    const bytes = await reading.run(() => readPiece(ctx.db, file, part));
    if (!bytes) return;
    if (bytes.length > 0) yield bytes;
    [no, from] = bytes.length < PART_BYTES ? [no + 1, 0] : [no, from + PART_BYTES];
  }
}
