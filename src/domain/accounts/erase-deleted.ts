/**
 * Erases the data of deleted lists and campaigns: people, ledgers, events, in slices with a transaction each. The tables come
 * from the catalogue: every one with an index that begins with customer and list or campaign; a new table needs no change here.
 * It continues after an interruption, and two at once do no harm. A deletion that fails is tried again later, so that the others
 * continue.
 */
import { ERASE_DELETED_KEY, ERASE_FAILED_KEY, eraseDeletedJob } from '../../jobs/account-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Context } from '../context.ts';
import {
  countErased,
  endDeletion,
  findDueDeletion,
  postponeDeletion,
  secondsUntilDue,
  type Deletion,
} from './deletion-store.ts';
import { eraseRowsOfTarget, filledTables, gatheredTables, type GatheredTable } from './tenant-table-store.ts';

/** Some tens of milliseconds each, so that nobody waits for long, and an interrupted job loses little. */
const ROWS_AT_ONCE = 5_000;
/** How often the progress is logged. */
const LOG_INTERVAL_MS = 10_000;
/**
 * When a failed deletion is tried again, which is also how often it is logged: four lines an hour are noticed and do not fill the
 * log.
 */
const RETRY_MINUTES = 15;

/** The job: erases all that is due. Another job continues when the process has to stop, or later with failed deletions. */
export async function eraseAllDeleted(ctx: Context, abortSignal: AbortSignal): Promise<void> {
  const isDone = await eraseDeleted(ctx, { isStopping: () => abortSignal.aborted });
  if (isDone) await enqueueFailedDeletions(ctx);
  else await enqueue(ctx.db, eraseDeletedJob, {}, { key: ERASE_DELETED_KEY });
}

/** Enqueues a job for the time at which the first failed deletion is tried again, if there is one. */
export async function enqueueFailedDeletions({ db }: Pick<Context, 'db'>): Promise<void> {
  const delaySeconds = await secondsUntilNextTry({ db });
  if (delaySeconds === undefined) return;
  await enqueue(db, eraseDeletedJob, {}, { key: ERASE_FAILED_KEY, delaySeconds });
}

/**
 * Erases all that is due, of one customer or of all, or until `isStopping`: then it returns false and has to be called again.
 * Failed deletions are tried later: `secondsUntilNextTry`.
 */
export async function eraseDeleted(
  ctx: Context,
  { customerId, isStopping }: { customerId?: bigint; isStopping: () => boolean },
): Promise<boolean> {
  const { db } = ctx;
  const tables = { list: await gatheredTables(db, 'list'), campaign: await gatheredTables(db, 'campaign') };
  const next = () => findDueDeletion(db, customerId);
  for (let deletion = await next(); deletion; deletion = await next()) {
    try {
      if (!(await eraseAll(ctx, deletion, tables[deletion.kind], isStopping))) return false;
    } catch (error) {
      await postpone(ctx, deletion, error);
    }
  }
  return true;
}

async function eraseAll(
  ctx: Context,
  deletion: Deletion,
  tables: readonly GatheredTable[],
  isStopping: () => boolean,
): Promise<boolean> {
  for (const table of await filledTables(ctx.database, deletion, tables))
    if (!(await eraseFrom(ctx, deletion, table, isStopping))) return false;
  await endDeletion(ctx.db, deletion);
  ctx.log.info('deletion.done', { kind: deletion.kind, uid: deletion.uid, records: deletion.total.toString() });
  return true;
}

/** Throws when the database does not answer: then the queue tries the whole job again. */
async function postpone({ db, log }: Context, deletion: Deletion, error: unknown): Promise<void> {
  const { kind, uid } = deletion;
  await postponeDeletion(db, deletion, RETRY_MINUTES);
  log.error('deletion.failed', { kind, uid, message: messageOf(error), retryMinutes: RETRY_MINUTES });
}

/** When the next deletion is due; undefined when nothing is left to erase. */
async function secondsUntilNextTry({ db }: Pick<Context, 'db'>): Promise<number | undefined> {
  const seconds = await secondsUntilDue(db);
  return seconds === null ? undefined : Math.max(0, seconds);
}

/** Erases all rows of the table in the order of an index, so that erased rows are not read again. */
async function eraseFrom(
  ctx: Context,
  deletion: Deletion,
  table: GatheredTable,
  isStopping: () => boolean,
): Promise<boolean> {
  let saidAt = performance.now();
  for (let from: string | null = null; ;) {
    if (isStopping()) return false;
    const slice = await eraseSlice(ctx, deletion, { table, from });
    if (slice.rows < ROWS_AT_ONCE) return true;
    from = slice.last;
    if (performance.now() - saidAt < LOG_INTERVAL_MS) continue;
    saidAt = performance.now();
    const { kind, uid, total } = deletion;
    ctx.log.info('deletion.goes_on', {
      kind,
      uid,
      table: table.table,
      erased: slice.erased?.toString(),
      of: total.toString(),
    });
  }
}

/** Rows and their number in one transaction. */
function eraseSlice(
  { database }: Context,
  deletion: Deletion,
  { table, from }: { table: GatheredTable; from: string | null },
): Promise<{ rows: number; last: string | null; erased?: bigint | undefined }> {
  return database.transaction(async (tx) => {
    const slice = await eraseRowsOfTarget(tx, deletion, { table, from, max: ROWS_AT_ONCE });
    return table.isCounted ? { ...slice, erased: await countErased(tx, deletion, slice.rows) } : slice;
  });
}
