/** Imports in tests: a file through the verbs, as the entry points do it. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { appendImportChunk } from '../../src/domain/audience/imports/append-import-chunk.ts';
import { finishImportUpload } from '../../src/domain/audience/imports/finish-import-upload.ts';
import { reportText } from '../../src/domain/audience/imports/import-report.ts';
import { rejectedLines } from '../../src/domain/audience/imports/import-rejection-store.ts';
import type { FinishImportInput, ListImport } from '../../src/domain/audience/imports/list-import.ts';
import { findOwnedImport } from '../../src/domain/audience/imports/find-owned-import.ts';
import { runListImport } from '../../src/domain/audience/imports/run-list-import.ts';
import { startListImport } from '../../src/domain/audience/imports/start-list-import.ts';
import { sql } from '../../src/db/database.ts';
import type { Context } from '../../src/domain/context.ts';
import type { MailList } from '../../src/domain/audience/list-fields.ts';

export interface ImportOptions extends FinishImportInput {
  /** Bytes a piece of the upload has. */
  readonly pieceBytes?: number;
}

/** Uploads a file into the list and queues it. */
export async function uploadFile(
  ctx: Context,
  list: MailList,
  file: string | Uint8Array,
  options: ImportOptions = {},
): Promise<ListImport> {
  const { pieceBytes = 1024 * 1024, ...finish } = options;
  const bytes = Buffer.from(file);
  const { uid } = await startListImport(ctx, { listUid: list.uid, fileName: 'people.csv' });
  for (let no = 0; no * pieceBytes < bytes.length; no++) {
    await appendImportChunk(ctx, { uid, no, bytes: bytes.subarray(no * pieceBytes, (no + 1) * pieceBytes) });
  }
  return finishImportUpload(ctx, { uid, ...finish });
}

/** The same, and runs it to its end. */
export async function importFile(
  ctx: Context,
  list: MailList,
  file: string | Uint8Array,
  options: ImportOptions = {},
): Promise<ListImport> {
  const queued = await uploadFile(ctx, list, file, options);
  await runListImport(ctx, queued, new AbortController().signal);
  return findOwnedImport(ctx, queued.uid);
}

export interface PersonRow {
  readonly email: string;
  readonly status: string;
  readonly source: string | null;
  readonly fields: Readonly<Record<string, string>>;
  readonly tags: readonly string[];
  readonly updated_at: Date;
}

/** Everybody on the list, by address. */
export async function peopleOf(ctx: Context, list: MailList): Promise<Map<string, PersonRow>> {
  const rows = await queryRows<PersonRow>(
    ctx.db,
    sql`SELECT email, status, source, fields, tags, updated_at FROM subscriber WHERE customer_id = ${list.customerId} AND list_id = ${list.id} ORDER BY id`,
  );
  return new Map(rows.map((row) => [row.email, row]));
}

/** Reasons of the rejected lines, by line. */
export async function rejectionsOf(ctx: Context, { customerId, id }: ListImport): Promise<Record<number, string>> {
  const lines = await rejectedLines(ctx.db, { customerId, id }, { afterLine: 0, limit: 1_000_000 });
  return Object.fromEntries(lines.map(({ line, reason }) => [line, reportText(reason)]));
}
