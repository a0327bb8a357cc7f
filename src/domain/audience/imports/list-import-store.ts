/** Writes of imports and their chunks, and the row as verbs need it. */
import { empty, join, sql, type Queryable, type Sql } from '../../../db/database.ts';
import { notify } from '../../../db/listen.ts';
import { storedList, storedParams } from '../../../lib/coded-reason.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import { verifyImportJob } from '../../../jobs/verification-jobs.ts';
import { newUid } from '../../../lib/ids.ts';
import type { MailList } from '../list-fields.ts';
import type { ImportFailure, ImportNotice } from './import-report.ts';
import { deleteChunks } from './import-chunk-store.ts';
import type { ImportSlice } from './import-slice.ts';
import {
  IMPORT_CHANNEL,
  UPLOAD_HOURS_MAX,
  LIST_IMPORT_ROW,
  type ImportColumn,
  type ImportKey,
  type ImportStatus,
  type ListImport,
} from './list-import.ts';

/** Why it failed; null: it did not. */
export const FAILURE = sql`CASE WHEN i.error_code IS NOT NULL THEN jsonb_build_object('code', i.error_code, 'params', coalesce(i.error_params, '{}')) END`;

const IMPORT_COLUMNS = sql`
  i.customer_id AS "customerId", i.id, i.uid, i.list_id AS "listId", i.file_name AS "fileName", i.status, i.encoding,
  i.separator, i.has_header AS "hasHeader", i.columns, i.notices,
  i.update_existing AS "updateExisting", i.tag, i.run_automations AS "runAutomations", i.verify, i.bytes_total AS "bytesTotal", i.bytes_processed AS "bytesProcessed",
  i.lines_processed AS "linesProcessed", i.processed, i.added, i.updated, i.unchanged, i.rejected,
  ${FAILURE} AS failure, i.created_at AS "createdAt", i.started_at AS "startedAt", i.finished_at AS "finishedAt"`;

/** The customer's import with this uid; optionally locked until the transaction ends. */
export async function findImport(
  db: Queryable,
  { customerId, uid }: { readonly customerId: bigint; readonly uid: string },
  lock = false,
): Promise<ListImport | undefined> {
  const [row] = await db.query(
    LIST_IMPORT_ROW,
    sql`SELECT ${IMPORT_COLUMNS} FROM mail_list_import i WHERE customer_id = ${customerId} AND uid = ${uid} ${lock ? sql`FOR NO KEY UPDATE` : empty}`,
  );
  return row;
}

/** Whether any customer has an import with this uid. */
export async function importExists(db: Queryable, uid: string): Promise<boolean> {
  return (await db.execute(sql`SELECT 1 FROM mail_list_import WHERE uid = ${uid} LIMIT 1`)) > 0;
}

/** Imports that have been uploading for too long. */
export function abandonedImports(db: Queryable): Promise<ImportKey[]> {
  return db.query(
    { id: 'bigint', customerId: 'bigint' },
    sql`
    SELECT customer_id AS "customerId", id FROM mail_list_import
     WHERE status = 'uploading' AND created_at < now() - make_interval(hours => ${UPLOAD_HOURS_MAX})`,
  );
}

/** Makes an import that waits for its file. */
export async function insertImport(
  db: Queryable,
  list: Pick<MailList, 'customerId' | 'id'>,
  { fileName, importedBy }: { readonly fileName: string; readonly importedBy: bigint },
): Promise<ListImport> {
  const [row] = await db.query(
    LIST_IMPORT_ROW,
    sql`
    INSERT INTO mail_list_import AS i (customer_id, uid, list_id, file_name, imported_by)
    VALUES (${list.customerId}, ${newUid()}, ${list.id}, ${fileName}, ${importedBy}) RETURNING ${IMPORT_COLUMNS}`,
  );
  if (!row) throw new Error('An insert answered no row.');
  return row;
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
  readonly runAutomations?: boolean;
  readonly verify?: boolean;
  readonly verifyBy?: string | null;
  readonly verifyAfter?: bigint;
  readonly verifySuppresses?: boolean;
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
  if (change.runAutomations !== undefined) yield sql`run_automations = ${change.runAutomations}`;
  if (change.verify !== undefined) yield sql`verify = ${change.verify}`;
  if (change.verifyBy !== undefined) yield sql`verify_by = ${change.verifyBy}`;
  if (change.verifyAfter !== undefined) yield sql`verify_after = ${change.verifyAfter}`;
  if (change.verifySuppresses !== undefined) yield sql`verify_suppresses = ${change.verifySuppresses}`;
  if (change.bytesTotal !== undefined) yield sql`bytes_total = ${change.bytesTotal}`;
  if (change.bytesProcessed !== undefined) yield sql`bytes_processed = ${change.bytesProcessed}`;
  if (change.linesProcessed !== undefined) yield sql`lines_processed = ${change.linesProcessed}`;
}

/**
 * Waits until nobody is changing the fields of the import's list, and lets nobody begin before the transaction ends: who changes them
 * locks the list (`lockListForChange`) and refuses while an import is running.
 */
export async function waitForFieldChanges(tx: Queryable, { customerId, id }: ImportKey): Promise<void> {
  await tx.execute(
    sql`SELECT 1 FROM mail_list WHERE customer_id = ${customerId}
           AND id = (SELECT list_id FROM mail_list_import WHERE customer_id = ${customerId} AND id = ${id}) FOR SHARE`,
  );
}

/** Marks an import as running; undefined when it has ended. */
export async function markRunning(db: Queryable, { customerId, id }: ImportKey): Promise<ListImport | undefined> {
  const [row] = await db.query(
    LIST_IMPORT_ROW,
    sql`
    UPDATE mail_list_import i SET status = 'running', started_at = coalesce(started_at, now())
     WHERE customer_id = ${customerId} AND id = ${id} AND status IN ('queued', 'running') RETURNING ${IMPORT_COLUMNS}`,
  );
  return row;
}

export interface ImportEnd {
  readonly status: 'done' | 'cancelled' | 'failed';
  readonly failure?: ImportFailure;
}

/** Ends an open import, deletes its file and notifies watchers. Returns whether it was open. */
export async function endImport(
  db: Queryable,
  { customerId, id }: ImportKey,
  { status, failure }: ImportEnd,
): Promise<boolean> {
  const [row] = await db.query(
    { uid: 'text', verify: 'bool' },
    sql`
    UPDATE mail_list_import SET status = ${status}, error_code = ${failure?.code ?? null},
           error_params = ${failure ? storedParams(failure) : null}::jsonb, finished_at = now()
     WHERE customer_id = ${customerId} AND id = ${id} AND status IN ('uploading', 'queued', 'running') RETURNING uid, verify`,
  );
  if (!row) return false;
  await deleteChunks(db, { customerId, id });
  // Those that a cancelled or failed import has added stay on the list; whoever ended it can verify the list.
  if (status === 'done' && row.verify)
    await enqueue(db, verifyImportJob, { customerId: String(customerId), importId: String(id) });
  await notify(db, IMPORT_CHANNEL, row.uid);
  return true;
}

export interface SliceCounts {
  readonly added: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly rejected: number;
}

export interface SliceResult {
  readonly slice: Pick<ImportSlice, 'start' | 'end' | 'endLine' | 'processed'>;
  readonly counts: SliceCounts;
}

/**
 * Counts a slice and stores where the next one begins, once: returns false when another process did so, or when the import has
 * ended.
 */
export async function advanceImport(
  db: Queryable,
  { customerId, id }: ImportKey,
  { slice, counts }: SliceResult,
): Promise<boolean> {
  const { added, updated, unchanged, rejected } = counts;
  const moved = await db.execute(
    sql`UPDATE mail_list_import
           SET bytes_processed = ${slice.end}, lines_processed = ${slice.endLine}, processed = processed + ${slice.processed},
               added = added + ${added}, updated = updated + ${updated}, unchanged = unchanged + ${unchanged},
               rejected = rejected + ${rejected}
         WHERE customer_id = ${customerId} AND id = ${id} AND status = 'running' AND bytes_processed = ${slice.start}`,
    'imports.move_on',
  );
  return moved === 1;
}
