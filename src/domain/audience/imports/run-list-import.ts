/**
 * Runs an import: reads the file as a stream from where it stands, and writes batch after batch; the next batch is
 * read while the database writes the last one. Killed at any moment, it goes on behind the last committed batch.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { enqueue } from '../../../jobs/define-job.ts';
import { runImportJob } from '../../../jobs/import-jobs.ts';
import { inTransaction, type Context } from '../../context.ts';
import { CsvScanner } from './csv-scanner.ts';
import { importJobKey } from './finish-import-upload.ts';
import { ImportBatch } from './import-batch.ts';
import { readImportFile } from './import-file.ts';
import { beginRun, type ImportRun } from './import-run.ts';
import { endImport, markRunning } from './list-import-store.ts';
import type { ImportKey } from './list-import.ts';
import { writeImportBatch } from './write-import-batch.ts';

/** Records read before the event loop gets its turn: some milliseconds. */
const RECORDS_PER_TURN = 1_000;
/** A batch of very long lines ends here, so that memory is bounded by bytes too. */
const BATCH_BYTES_MAX = 8 * 1024 * 1024;

export type RunOutcome = 'done' | 'stopped' | 'over';

/**
 * Runs the import to its end (`done`), or until `abortSignal` fires (`stopped`: a new job goes on with it), or until
 * there is nothing to do any more (`over`: it was cancelled, its list is gone, or another process runs it).
 */
export async function runListImport(ctx: Context, key: ImportKey, abortSignal: AbortSignal): Promise<RunOutcome> {
  const found = await markRunning(ctx.db, key);
  if (!found) return 'over';
  const outcome = await writeBatches(ctx, await beginRun(ctx, found), abortSignal);
  if (outcome === 'done') await inTransaction(ctx, ({ db }) => endImport(db, found, { status: 'done' }));
  if (outcome === 'stopped') {
    await enqueue(
      ctx.db,
      runImportJob,
      { customerId: String(key.customerId), importId: String(key.id) },
      { key: importJobKey(found) },
    );
  }
  ctx.log.info(`import.${outcome}`, { import: found.uid, ...(outcome === 'done' ? {} : { status: found.status }) });
  return outcome;
}

/** Ends an import that failed for good. People that were taken stay. */
export async function failListImport(ctx: Context, key: ImportKey, error: string): Promise<void> {
  await inTransaction(ctx, ({ db }) => endImport(db, key, { status: 'failed', error }));
}

async function writeBatches(ctx: Context, run: ImportRun, abortSignal: AbortSignal): Promise<RunOutcome> {
  let writing = Promise.resolve(true);
  for await (const batch of readBatches(ctx, run)) {
    if (!(await writing)) return 'over';
    if (abortSignal.aborted) return 'stopped';
    writing = writeImportBatch(ctx, run, batch);
    // It is awaited when the next batch has been read; until then its failure is not unhandled.
    writing.catch(() => undefined);
  }
  return (await writing) ? 'done' : 'over';
}

async function* readBatches(ctx: Context, { found, reader }: ImportRun): AsyncGenerator<ImportBatch> {
  const { separator, linesRead, updateExisting } = found;
  const offset = Number(found.bytesProcessed);
  const scanner = new CsvScanner({ separator: separator ?? ',', offset, line: linesRead + 1 });
  const sizeMax = ctx.installation.limits.importBatchSize;
  let batch = new ImportBatch(reader, { end: offset, linesRead }, updateExisting);
  let records = 0;
  for await (const { bytes, isLast } of readImportFile(ctx.database, found, offset)) {
    scanner.push(bytes, isLast);
    for (let record = scanner.next(); record; record = scanner.next()) {
      batch.add(record);
      if (batch.processed >= sizeMax || batch.end - batch.start >= BATCH_BYTES_MAX) {
        yield batch;
        batch = new ImportBatch(reader, batch, updateExisting);
      }
      if (++records % RECORDS_PER_TURN === 0) await nextTurn();
    }
  }
  if (batch.end > batch.start) yield batch;
}
