/** The chunks of an import's file: written as they arrive, read in parts. */
import { sql, row, type Queryable, type Transaction, type RowOf } from '../../../db/database.ts';
import { copyChunk, type NewChunk } from './copy-format.ts';
import type { ImportKey } from './list-import.ts';

const COPY_CHUNK = 'COPY import_chunk (customer_id, import_id, no, is_ascii, bytes) FROM STDIN (FORMAT binary)';

/**
 * Adds a chunk to a locked import and returns the size of the file so far; an existing chunk stays. A crash may lose it: only the
 * end of the upload is written durably, with everything before it.
 */
export async function insertChunk(tx: Transaction, { customerId, id }: ImportKey, chunk: NewChunk): Promise<bigint> {
  const { no, bytes } = chunk;
  await tx.execute(sql`SET LOCAL synchronous_commit = off`);
  const known = await tx.execute(
    sql`SELECT 1 FROM import_chunk WHERE customer_id = ${customerId} AND import_id = ${id} AND no = ${no}`,
    'imports.find_chunk',
  );
  // COPY sends the bytes without conversion; a statement's parameter would be copied several times.
  if (!known) await tx.copy(COPY_CHUNK, copyChunk({ customerId, id }, chunk));
  const [row] = await tx.query(
    { bytesTotal: 'bigint' },
    sql`UPDATE mail_list_import SET bytes_total = bytes_total + ${known ? 0 : bytes.length}
         WHERE customer_id = ${customerId} AND id = ${id} RETURNING bytes_total AS "bytesTotal"`,
    'imports.count_chunk',
  );
  return row?.bytesTotal ?? 0n;
}

const CHUNK_SIZE_ROW = row({
  no: 'int',
  size: 'int',
});
export type ChunkSize = RowOf<typeof CHUNK_SIZE_ROW>;

/** A part of one chunk. */
export interface Stretch {
  readonly no: number;
  readonly from: number;
  readonly size: number;
}

/** In their order in the file. */
export function chunkSizes(db: Queryable, { customerId, id }: ImportKey): Promise<ChunkSize[]> {
  return db.query(
    CHUNK_SIZE_ROW,
    sql`
    SELECT no, octet_length(bytes) AS size FROM import_chunk WHERE customer_id = ${customerId} AND import_id = ${id} ORDER BY no`,
  );
}

/** Undefined when the chunk no longer exists. */
export async function readStretch(
  db: Queryable,
  { customerId, id }: ImportKey,
  { no, from, size }: Stretch,
): Promise<Buffer | undefined> {
  // Base64 is two thirds as long as the hexadecimal digits in which bytes are sent, and is decoded faster.
  const [row] = await db.query(
    { base64: 'text' },
    sql`SELECT encode(substring(bytes FROM ${from + 1}::int FOR ${size}::int), 'base64') AS base64 FROM import_chunk
         WHERE customer_id = ${customerId} AND import_id = ${id} AND no = ${no}`,
    'imports.read_stretch',
  );
  return row && Buffer.from(row.base64, 'base64');
}

/** The first chunks with more than ASCII. */
export async function chunksBeyondAscii(
  db: Queryable,
  { customerId, id }: ImportKey,
  limit: number,
): Promise<Buffer[]> {
  const rows = await db.query(
    { bytes: 'bytea' },
    sql`
    SELECT bytes FROM import_chunk WHERE customer_id = ${customerId} AND import_id = ${id} AND NOT is_ascii
     ORDER BY no LIMIT ${limit}`,
  );
  return rows.map(({ bytes }) => bytes);
}

export async function rewriteChunk(
  db: Queryable,
  { customerId, id }: ImportKey,
  { no, bytes }: Pick<NewChunk, 'no' | 'bytes'>,
): Promise<void> {
  await db.execute(
    sql`UPDATE import_chunk SET bytes = ${bytes} WHERE customer_id = ${customerId} AND import_id = ${id} AND no = ${no}`,
    'imports.rewrite_chunk',
  );
}

export async function deleteChunks(db: Queryable, { customerId, id }: ImportKey): Promise<void> {
  await db.execute(sql`DELETE FROM import_chunk WHERE customer_id = ${customerId} AND import_id = ${id}`);
}
