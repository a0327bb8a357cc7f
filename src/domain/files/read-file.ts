/** Reads a file for the world: by the token in its address, piece after piece. */
import type { Context } from '../context.ts';
import { createGate } from '../../lib/gate.ts';
import { findFileByToken, readPiece } from './file-store.ts';
import type { StoredFile } from './file.ts';

export interface ReadableFile extends StoredFile {
  /** The bytes in order; each piece is read when the one before has been taken. */
  readonly pieces: AsyncIterable<Buffer>;
}

/**
 * Pieces of a megabyte that are read at the same time, each some megabytes until it has come: readers who ask for many files
 * and take their time share these, and one of them gets no more than the others.
 */
const PIECES_READ_MAX = 2;
const gate = createGate({ runningMax: PIECES_READ_MAX, totalMax: PIECES_READ_MAX, waitingMax: Infinity });

const TOKEN = /^[0-9a-f]{32}$/;

/** The file, or undefined when no complete file has this token. */
export async function readFileByToken(ctx: Context, token: string): Promise<ReadableFile | undefined> {
  if (!TOKEN.test(token)) return undefined;
  const file = await findFileByToken(ctx.db, token);
  return file && { ...file, pieces: piecesOf(ctx, file) };
}

async function* piecesOf(ctx: Context, file: StoredFile): AsyncGenerator<Buffer> {
  for (let no = 0; ; no++) {
    const read = await gate.pass('piece', () => readPiece(ctx.db, file, no));
    if (!read?.result) return;
    yield read.result;
  }
}
