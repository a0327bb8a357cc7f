/** Reads and writes of files and their pieces. */
import { sql, type Queryable, type Transaction } from '../../db/database.ts';
import { lockUntilCommit } from '../../db/lock.ts';
import { isUid } from '../../lib/ids.ts';
import { viewerOf, type Context, type TransactionContext } from '../context.ts';
import { fileNotFound, foreignFile } from './file-errors.ts';
import { STORED_FILE_ROW, type StoredFile } from './file.ts';

const COLUMNS = sql`customer_id AS "customerId", id, uid, token, name, path, status, content_type AS "contentType", size_bytes AS "sizeBytes"`;

export type NewFile = Pick<StoredFile, 'customerId' | 'uid' | 'token' | 'name' | 'path'>;

export async function insertFile(db: Queryable, file: NewFile): Promise<StoredFile | undefined> {
  const [row] = await db.query(
    STORED_FILE_ROW,
    sql`
    INSERT INTO uploaded_file (customer_id, uid, token, name, path)
    VALUES (${file.customerId}, ${file.uid}, ${file.token}, ${file.name}, ${file.path}) RETURNING ${COLUMNS}`,
  );
  return row;
}

/** The caller's file. Throws NotFoundError `FILE_NOT_FOUND`, ForeignResourceError of the same code. */
export async function findOwnedFile(ctx: Context, uid: string): Promise<StoredFile> {
  return find(ctx, uid, false);
}

/** The same, locked until the transaction ends. */
export async function lockOwnedFile(ctx: TransactionContext, uid: string): Promise<StoredFile> {
  return find(ctx, uid, true);
}

async function find(ctx: Context, uid: string, lock: boolean): Promise<StoredFile> {
  const { customerId } = viewerOf(ctx);
  if (!isUid(uid)) throw fileNotFound();
  const [file] = await ctx.db.query(
    STORED_FILE_ROW,
    sql`SELECT ${COLUMNS} FROM uploaded_file WHERE customer_id = ${customerId} AND uid = ${uid} ${lock ? sql`FOR UPDATE` : sql``}`,
  );
  if (file) return file;
  const other = await ctx.db.execute(sql`SELECT 1 FROM uploaded_file WHERE uid = ${uid} LIMIT 1`);
  throw other ? foreignFile() : fileNotFound();
}

export type FileKey = Pick<StoredFile, 'customerId' | 'id'>;

/** Stores a piece once; returns the bytes so far. */
export async function insertPiece(
  tx: Transaction,
  { customerId, id }: FileKey,
  { no, bytes }: { no: number; bytes: Uint8Array },
): Promise<number> {
  await tx.execute(sql`
    INSERT INTO file_piece (customer_id, file_id, no, bytes) VALUES (${customerId}, ${id}, ${no}, ${bytes}) ON CONFLICT DO NOTHING`);
  return (await sizeOf(tx, { customerId, id })).bytes;
}

/** How many bytes have arrived, in how many pieces, and the number of the last one. */
export async function sizeOf(db: Queryable, { customerId, id }: FileKey) {
  const [row] = await db.query(
    { bytes: 'float8', pieces: 'int', last: 'int' },
    sql`
    SELECT coalesce(sum(octet_length(bytes)), 0)::float8 AS bytes, count(*)::int AS pieces, coalesce(max(no), -1) AS last
      FROM file_piece WHERE customer_id = ${customerId} AND file_id = ${id}`,
  );
  return row ?? { bytes: 0, pieces: 0, last: -1 };
}

/** A range of bytes in a piece. */
export interface Part {
  readonly from: number;
  readonly length: number;
}

/**
 * Bytes of a piece, fewer at its end; undefined when there is no such piece. They are stored uncompressed, so only this part is
 * read.
 */
export function readPiece(
  db: Queryable,
  { customerId, id }: FileKey,
  { no, from, length }: Part & { readonly no: number },
): Promise<Buffer | undefined> {
  return db.readBytes(
    sql`SELECT substring(bytes FROM ${from + 1} FOR ${length})
          FROM file_piece WHERE customer_id = ${customerId} AND file_id = ${id} AND no = ${no}`,
  );
}

/** All bytes of a file; only for small files. */
export async function readWholeFile(db: Queryable, { customerId, id }: FileKey): Promise<Buffer> {
  const [row] = await db.query(
    { bytes: 'bytea?' },
    sql`
    SELECT string_agg(bytes, ''::bytea ORDER BY no) AS bytes FROM file_piece WHERE customer_id = ${customerId} AND file_id = ${id}`,
  );
  return row?.bytes ?? Buffer.alloc(0);
}

export async function completeFile(
  db: Queryable,
  { customerId, id }: FileKey,
  { contentType, bytes }: { contentType: string; bytes: number },
): Promise<StoredFile | undefined> {
  const [row] = await db.query(
    STORED_FILE_ROW,
    sql`
    UPDATE uploaded_file SET status = 'ready', content_type = ${contentType}, size_bytes = ${bytes}
     WHERE customer_id = ${customerId} AND id = ${id} AND status = 'uploading' RETURNING ${COLUMNS}`,
  );
  return row;
}

export async function deleteFileRow(db: Queryable, { customerId, id }: FileKey): Promise<void> {
  await db.execute(sql`DELETE FROM uploaded_file WHERE customer_id = ${customerId} AND id = ${id}`);
}

/** Open uploads of the customer; no other can begin until the transaction ends. */
export async function countOpenUploads(tx: Transaction, customerId: bigint): Promise<number> {
  await lockUntilCommit(tx, `mailwright:open-uploads:${customerId}`);
  const [row] = await tx.query(
    { open: 'int' },
    sql`SELECT count(*)::int AS open FROM uploaded_file WHERE customer_id = ${customerId} AND status = 'uploading'`,
  );
  return row?.open ?? 0;
}

/** The customer's complete file with this uid; optionally nobody can delete it before the transaction ends. */
export async function findReadyFile(
  db: Queryable,
  { customerId, uid }: { customerId: bigint; uid: string },
  hold = false,
): Promise<StoredFile | undefined> {
  const [file] = await db.query(
    STORED_FILE_ROW,
    sql`SELECT ${COLUMNS} FROM uploaded_file WHERE customer_id = ${customerId} AND uid = ${uid} AND status = 'ready' ${hold ? sql`FOR SHARE` : sql``}`,
  );
  return file;
}

/** The complete file behind a public address. */
export async function findFileByToken(db: Queryable, token: string): Promise<StoredFile | undefined> {
  const [file] = await db.query(
    STORED_FILE_ROW,
    sql`SELECT ${COLUMNS} FROM uploaded_file WHERE token = ${token} AND status = 'ready'`,
    'files.by_token',
  );
  return file;
}

/** Uploads that were not finished in `hours`. Returns their number. */
export function deleteAbandonedUploads(db: Queryable, hours: number): Promise<number> {
  return db.execute(
    sql`DELETE FROM uploaded_file WHERE status = 'uploading' AND created_at < now() - make_interval(hours => ${hours}::int)`,
  );
}
