/**
 * Reads one `bytea` value as bytes. As a column of a row it would come as hexadecimal text, twice as long, and the driver would
 * copy it five times: for large values that many requests read.
 */
import type pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import type { Sql } from 'sql-template-tag';

/** COPY's binary format: the signature with two empty words, then the number of columns and the length of the only one. */
const HEADER_BYTES = 19;
const COLUMNS_BYTES = 2;
const LENGTH_BYTES = 4;

/**
 * The value in the only column and first row of `select`; undefined when there is no row or it is NULL. COPY takes no parameters,
 * so the values in `select` may be numbers only.
 */
export async function readBytes(client: pg.ClientBase, select: Sql): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  for await (const chunk of client.query(copyTo(`COPY (${withNumbers(select)}) TO STDOUT (FORMAT binary)`)))
    chunks.push(chunk);
  return firstValueOf(Buffer.concat(chunks));
}

/** The same with a connection of the pool. */
export async function readBytesFromPool(pool: pg.Pool, select: Sql): Promise<Buffer | undefined> {
  const client = await pool.connect();
  let isWhole = false;
  try {
    const bytes = await readBytes(client, select);
    isWhole = true;
    return bytes;
  } finally {
    client.release(!isWhole);
  }
}

function withNumbers({ strings, values }: Sql): string {
  return strings.reduce((text, part, no) => text + numberText(values[no - 1]) + part);
}

function numberText(value: unknown): string {
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return `(${String(value)})`;
  throw new TypeError('Only whole numbers can be part of a statement that takes no parameters.');
}

function firstValueOf(copied: Buffer): Buffer | undefined {
  // -1 columns: the end, and no row before it.
  if (copied.readInt16BE(HEADER_BYTES) < 0) return undefined;
  const length = copied.readInt32BE(HEADER_BYTES + COLUMNS_BYTES);
  const from = HEADER_BYTES + COLUMNS_BYTES + LENGTH_BYTES;
  return length < 0 ? undefined : copied.subarray(from, from + length);
}
