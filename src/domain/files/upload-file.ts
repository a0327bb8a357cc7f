/**
 * Uploading a file in pieces: start, add pieces in any order, finish. The plan's limits are checked at the start, while bytes
 * arrive, and at the end.
 */
import { fileTypeFromBuffer } from 'file-type';
import { requireUploadSpace, uploadLimitsOf } from '../billing/plans/require-within-limit.ts';
import { inTransaction, viewerOf, type Context, type TransactionContext } from '../context.ts';
import { newUid } from '../../lib/ids.ts';
import { assert } from '../../lib/errors.ts';
import { emptyFile, fileBeyondLimit, tooManyUploads, uploadComplete, wrongPiece } from './file-errors.ts';
import {
  completeFile,
  countOpenUploads,
  insertFile,
  insertPiece,
  lockOwnedFile,
  readPiece,
  sizeOf,
} from './file-store.ts';
import { newFileToken, OPEN_UPLOADS_MAX, PIECE_BYTES_MAX, PIECES_MAX, placeOf, type StoredFile } from './file.ts';

const BYTES_PER_MEGABYTE = 1_048_576;

/** Starts an upload. Throws ValidationError (`FILE_PATH_WRONG`, `TOO_MANY_UPLOADS`), WrongStateError `SUBSCRIPTION_ENDED`. */
export async function startFileUpload(
  ctx: Context,
  given: { name: string; subdirectory?: string | null | undefined },
): Promise<StoredFile> {
  const { customerId } = viewerOf(ctx);
  const place = placeOf(given);
  return inTransaction(ctx, async ({ tx }) => {
    await uploadLimitsOf(tx, customerId);
    if ((await countOpenUploads(tx, customerId)) >= OPEN_UPLOADS_MAX) throw tooManyUploads(OPEN_UPLOADS_MAX);
    const file = await insertFile(tx, { customerId, uid: newUid(), token: newFileToken(), ...place });
    assert(file, 'a file that was inserted is there');
    return file;
  });
}

export interface FilePieceInput {
  readonly uid: string;
  /** Counted from 0. */
  readonly no: number;
  readonly bytes: Uint8Array;
}

/**
 * Stores piece number `no` (1 byte to 1 MiB); an existing number changes nothing. Throws ValidationError (`FILE_PIECE_WRONG`,
 * `FILE_TOO_LARGE`, `PLAN_FILE_TOO_LARGE`), WrongStateError `FILE_COMPLETE`, NotFoundError, ForeignResourceError.
 */
export async function appendToFile(ctx: Context, { uid, no, bytes }: FilePieceInput): Promise<StoredFile> {
  if (!Number.isInteger(no) || no < 0 || no >= PIECES_MAX)
    throw wrongPiece(`A piece has a number from 0 to ${PIECES_MAX - 1}.`);
  if (bytes.length === 0 || bytes.length > PIECE_BYTES_MAX)
    throw wrongPiece(`A piece has 1 to ${PIECE_BYTES_MAX} bytes.`);
  return inTransaction(ctx, async (inner) => {
    const file = await lockOwnedFile(inner, uid);
    if (file.status !== 'uploading') throw uploadComplete();
    const total = await insertPiece(inner.tx, file, { no, bytes });
    await refuseTooLarge(inner, { customerId: file.customerId, total });
    return { ...file, sizeBytes: BigInt(total) };
  });
}

async function refuseTooLarge(
  ctx: TransactionContext,
  { customerId, total }: { customerId: bigint; total: number },
): Promise<void> {
  const { fileBytesMax } = ctx.installation.limits;
  if (total > fileBytesMax) throw fileBeyondLimit(Math.floor(fileBytesMax / BYTES_PER_MEGABYTE));
  const allowed = (await uploadLimitsOf(ctx.tx, customerId)).fileBytesMax;
  if (allowed !== null && total > allowed)
    await requireUploadSpace(ctx.tx, { customerId, bytes: total, field: 'file' });
}

/**
 * Finishes the upload. The type is detected from the first bytes, never from the name. Throws ValidationError (`FILE_EMPTY`,
 * `FILE_PIECE_WRONG`, `PLAN_LIMIT_REACHED`, `PLAN_FILE_TOO_LARGE`), WrongStateError, NotFoundError, ForeignResourceError.
 */
export async function finishFileUpload(ctx: Context, { uid }: { uid: string }): Promise<StoredFile> {
  return inTransaction(ctx, async (inner) => {
    const file = await lockOwnedFile(inner, uid);
    if (file.status !== 'uploading') throw uploadComplete();
    const { bytes, pieces, last } = await sizeOf(inner.db, file);
    if (bytes === 0) throw emptyFile();
    if (last !== pieces - 1) throw wrongPiece('A piece is missing: send all from 0 on.');
    await requireUploadSpace(inner.tx, { customerId: file.customerId, bytes, field: 'file' });
    const head = await readPiece(inner.db, file, { no: 0, from: 0, length: PIECE_BYTES_MAX });
    const found = head && (await fileTypeFromBuffer(head).catch(() => undefined));
    const complete = await completeFile(inner.db, file, {
      contentType: found?.mime ?? 'application/octet-stream',
      bytes,
    });
    assert(complete, 'a locked upload can be completed');
    return complete;
  });
}
