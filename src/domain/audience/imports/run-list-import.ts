/**
 * Runs an import: reads the file as a stream and writes it in batches, two at a time, while the next one is read. Every
 * batch marks its stretch of the file as done in its own transaction: killed at any moment, the next run reads the file
 * again, which takes little, and writes what is not done.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { enqueue } from '../../../jobs/define-job.ts';
import { runImportJob } from '../../../jobs/import-jobs.ts';
import { assert, WrongStateError } from '../../../lib/errors.ts';
import { inTransaction, type Context } from '../../context.ts';
import { CsvScanner } from './csv-scanner.ts';
import { importJobKey } from './finish-import-upload.ts';
import { ImportBatch } from './import-batch.ts';
import { readImportFile } from './import-file.ts';
import { beginRun, type ImportRun } from './import-run.ts';
import { endImport, markRunning } from './list-import-store.ts';
import type { ImportKey, ListImport } from './list-import.ts';
import { tellPlanner } from './tell-planner.ts';
import { writeImportBatch } from './write-import-batch.ts';

/** Batches written at the same time: one more keeps a second core of the database busy, a third gains nothing. */
const WRITERS = 2;
/** Records read before the event loop gets its turn: some milliseconds. */
const RECORDS_PER_TURN = 2_000;
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
  const outcome = await writeUnlessRefused(ctx, found, abortSignal);
  if (outcome === 'done') {
    await inTransaction(ctx, ({ db }) => endImport(db, found, { status: 'done' }));
    await tellPlanner(ctx.db, found);
  }
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

/** A subscription that ends meanwhile ends the import too; people that were taken stay. */
async function writeUnlessRefused(ctx: Context, found: ListImport, abortSignal: AbortSignal): Promise<RunOutcome> {
  try {
    return await writeBatches(ctx, await beginRun(ctx, found), abortSignal);
  } catch (error) {
    if (!(error instanceof WrongStateError)) throw error;
    await failListImport(ctx, found, error.message);
    return 'over';
  }
}

async function writeBatches(ctx: Context, run: ImportRun, abortSignal: AbortSignal): Promise<RunOutcome> {
  const { found, reader, frame } = run;
  const options = {
    reader,
    frame,
    updateExisting: found.updateExisting,
    members: run.members,
    linesMax: ctx.installation.limits.importBatchSize,
  };
  const idle = Array.from({ length: WRITERS + 1 }, () => new ImportBatch(options));
  const writing = new Map<ImportBatch, Promise<boolean>>();
  const settled = async (promises: Iterable<Promise<boolean>>): Promise<boolean> =>
    (await Promise.all(promises)).every(Boolean);
  try {
    for await (const batch of readBatches(ctx, run, idle)) {
      // Somebody in both batches: what the later line says must find what the earlier one wrote.
      const isShared = [...writing.keys()].some(({ people }) => people.sharesSomebodyWith(batch.people));
      const mustEnd = isShared || abortSignal.aborted;
      if (!(await (mustEnd ? settled(writing.values()) : writing.size < WRITERS || Promise.race(writing.values()))))
        return 'over';
      if (abortSignal.aborted) return 'stopped';
      const written = writeImportBatch(ctx, run, batch).then((isWritten) => {
        // What failed stays among the writing, so that it is seen.
        if (isWritten) writing.delete(batch);
        if (isWritten) idle.push(batch);
        return isWritten;
      });
      // It is awaited soon; until then its failure is not unhandled.
      written.catch(() => undefined);
      writing.set(batch, written);
    }
    return (await settled(writing.values())) ? 'done' : 'over';
  } finally {
    await Promise.allSettled(writing.values());
  }
}

async function* readBatches(ctx: Context, run: ImportRun, idle: ImportBatch[]): AsyncGenerator<ImportBatch> {
  const { separator, beginsAt, beginsLine } = run.found;
  const offset = Number(beginsAt);
  const scanner = new CsvScanner({ separator: separator ?? ',', offset, line: beginsLine + 1 });
  const done = [...run.done];
  let batch = nextBatch(idle, offset);
  let records = 0;
  for await (const { bytes, isLast } of readImportFile(ctx.database, run.found, offset)) {
    scanner.push(bytes, isLast);
    for (let start = scanner.end; scanner.advance(); start = scanner.end) {
      if (++records % RECORDS_PER_TURN === 0) await nextTurn();
      while (done[0] && done[0].end <= start) done.shift();
      const isDone = done[0] !== undefined && done[0].start <= start;
      if (!isDone) batch.add(scanner);
      const isComplete = isDone || batch.isFull || batch.end - batch.start >= BATCH_BYTES_MAX;
      if (isComplete && batch.end > batch.start) {
        yield batch;
        batch = nextBatch(idle, scanner.end);
      } else if (isDone) batch.begin(scanner.end);
    }
  }
  if (batch.end > batch.start) yield batch;
}

/** There is one more than can be written at the same time. */
function nextBatch(idle: ImportBatch[], offset: number): ImportBatch {
  const batch = idle.pop();
  assert(batch, 'no batch is idle');
  batch.begin(offset);
  return batch;
}
