/** Writes of imports and their chunks, and the row as verbs need it. */
import { join, sql, type Queryable, type Sql, type Transaction } from '../../../db/database.ts';
import { notify } from '../../../db/listen.ts';
import { storedList, storedParams } from '../../../lib/coded-reason.ts';
import { newUid } from '../../../lib/ids.ts';
import type { MailList } from '../list-fields.ts';
import { COPY_CHUNK, copyChunk, type NewChunk } from './copy-format.ts';
import type { ImportFailure, ImportNotice } from './import-report.ts';
import {
  IMPORT_CHANNEL,
  type ImportColumn,
  type ImportKey,
  type ImportStatus,
  type ListImport,
} from './list-import.ts';

/** Why it failed; null: it did not. */
export const FAILURE = sql`CASE WHEN i.error_code IS NOT NULL THEN jsonb_build_object('code', i.error_code, 'params', coalesce(i.error_params, '{}')) END`;

export const IMPORT_COLUMNS = sql`
  i.customer_id AS "customerId", i.id, i.uid, i.list_id AS "listId", i.file_name AS "fileName", i.status, i.encoding,
  i.separator, i.has_header AS "hasHeader", i.columns, i.notices,
  i.update_existing AS "updateExisting", i.tag, i.bytes_total AS "bytesTotal", i.bytes_processed AS "bytesProcessed",
  i.lines_processed AS "linesProcessed", i.processed, i.added, i.updated, i.unchanged, i.rejected,
  ${FAILURE} AS failure, i.created_at AS "createdAt", i.started_at AS "startedAt", i.finished_at AS "finishedAt"`;

/** Makes an import that waits for its file. */
export async function insertImport(
  db: Queryable,
  list: Pick<MailList, 'customerId' | 'id'>,
  fileName: string,
): Promise<ListImport> {
  const [row] = await db.query<ListImport>(sql`
    INSERT INTO mail_list_import AS i (customer_id, uid, list_id, file_name)
    VALUES (${list.customerId}, ${newUid()}, ${list.id}, ${fileName}) RETURNING ${IMPORT_COLUMNS}`);
  if (!row) throw new Error('An insert answered no row.');
  return row;
}

/** Adds a chunk to a locked import and answers the size of the file so far; a chunk that is there already stays. */
export async function insertChunk(tx: Transaction, { customerId, id }: ImportKey, chunk: NewChunk): Promise<bigint> {
  const { no, bytes } = chunk;
  const [known] = await tx.query(
    sql`SELECT 1 FROM import_chunk WHERE customer_id = ${customerId} AND import_id = ${id} AND no = ${no}`,
    'imports.find_chunk',
  );
  // COPY hands the bytes to the socket as they are; a statement's parameter would be copied several times.
  if (!known) await tx.copy(COPY_CHUNK, copyChunk({ customerId, id }, chunk));
  const [row] = await tx.query<{ bytesTotal: bigint }>(
    sql`UPDATE mail_list_import SET bytes_total = bytes_total + ${known ? 0 : bytes.length}
         WHERE customer_id = ${customerId} AND id = ${id} RETURNING bytes_total AS "bytesTotal"`,
    'imports.count_chunk',
  );
  return row?.bytesTotal ?? 0n;
}

export interface ImportChange {
  readonly status?: ImportStatus;
  readonly encoding?: string;
  readonly separator?: string;
  readonly hasHeader?: boolean;
  readonly columns?: readonly ImportColumn[];
  readonly notices?: readonly ImportNotice[];
  readonly updateExisting?: boolean;
  readonly tag?: string | null;
  readonly bytesTotal?: number;
  readonly bytesProcessed?: number;
  readonly linesProcessed?: number;
}

/** Writes a locked import. */
export async function updateImport(db: Queryable, { customerId, id }: ImportKey, change: ImportChange): Promise<void> {
  const assignments = [...assignmentsOf(change)];
  if (assignments.length === 0) return;
  await db.execute(
    sql`UPDATE mail_list_import SET ${join(assignments)} WHERE customer_id = ${customerId} AND id = ${id}`,
  );
}

function* assignmentsOf(change: ImportChange): Generator<Sql> {
  if (change.status !== undefined) yield sql`status = ${change.status}`;
  if (change.encoding !== undefined) yield sql`encoding = ${change.encoding}`;
  if (change.separator !== undefined) yield sql`separator = ${change.separator}`;
  if (change.hasHeader !== undefined) yield sql`has_header = ${change.hasHeader}`;
  if (change.columns !== undefined) yield sql`columns = ${JSON.stringify(change.columns)}::jsonb`;
  if (change.notices !== undefined) yield sql`notices = ${storedList(change.notices)}::jsonb`;
  if (change.updateExisting !== undefined) yield sql`update_existing = ${change.updateExisting}`;
  if (change.tag !== undefined) yield sql`tag = ${change.tag}`;
  if (change.bytesTotal !== undefined) yield sql`bytes_total = ${change.bytesTotal}`;
  if (change.bytesProcessed !== undefined) yield sql`bytes_processed = ${change.bytesProcessed}`;
  if (change.linesProcessed !== undefined) yield sql`lines_processed = ${change.linesProcessed}`;
}

/** Marks an import as taken up; undefined when there is nothing to do for it any more. */
export async function markRunning(db: Queryable, { customerId, id }: ImportKey): Promise<ListImport | undefined> {
  const [row] = await db.query<ListImport>(sql`
    UPDATE mail_list_import i SET status = 'running', started_at = coalesce(started_at, now())
     WHERE customer_id = ${customerId} AND id = ${id} AND status IN ('queued', 'running') RETURNING ${IMPORT_COLUMNS}`);
  return row;
}

export interface ImportEnd {
  readonly status: 'done' | 'cancelled' | 'failed';
  readonly failure?: ImportFailure;
}

/** Ends an open import, drops its file and tells whoever watches. Answers whether it was open. */
export async function endImport(
  db: Queryable,
  { customerId, id }: ImportKey,
  { status, failure }: ImportEnd,
): Promise<boolean> {
  const [row] = await db.query<{ uid: string }>(sql`
    UPDATE mail_list_import SET status = ${status}, error_code = ${failure?.code ?? null},
           error_params = ${failure ? storedParams(failure) : null}::jsonb, finished_at = now()
     WHERE customer_id = ${customerId} AND id = ${id} AND status IN ('uploading', 'queued', 'running') RETURNING uid`);
  if (!row) return false;
  await db.execute(sql`DELETE FROM import_chunk WHERE customer_id = ${customerId} AND import_id = ${id}`);
  await notify(db, IMPORT_CHANNEL, row.uid);
  return true;
}
