/**
 * Runs an import: reads the file as a stream and writes it in slices, one after the other, while the next one is read. Every
 * slice stores in its own transaction where the next one begins: after a kill at any moment the next run continues there.
 */
import { WrongStateError } from '../../../lib/errors.ts';
import { customerUidsOf } from '../../accounts/customer-store.ts';
import { inTransaction, type Context } from '../../context.ts';
import { defaultValues } from '../field-values.ts';
import { uidOfList } from '../list-store.ts';
import { fieldsOfList } from '../list-field-store.ts';
import { createAskAboutRow } from './ask-about-row.ts';
import { enqueueImportRun } from './dispatch-import.ts';
import type { ImportFailure } from './import-report.ts';
import { readSlices } from './import-slice.ts';
import { endImport, markRunning, waitForFieldChanges } from './list-import-store.ts';
import type { ImportKey, ListImport } from './list-import.ts';
import { createPersonReader } from './person.ts';
import { refreshPlanner } from './planner-statistics-store.ts';
import { writeImportSlice, type ImportRun } from './write-import-slice.ts';

export type RunOutcome = 'done' | 'stopped' | 'over';

export interface RunOptions {
  readonly abortSignal: AbortSignal;
  /** There is no further try: a failure now ends the import. */
  readonly isLastTry: boolean;
}

/** Runs the import; a failure that outlasts all tries ends it as failed. People that were imported stay. Throws the failure. */
export async function runOrFailListImport(
  ctx: Context,
  key: ImportKey,
  { abortSignal, isLastTry }: RunOptions,
): Promise<void> {
  try {
    await runListImport(ctx, key, abortSignal);
  } catch (error) {
    // The uploader cannot correct this; the log of the job says more.
    if (isLastTry) await failImport(ctx, key, { code: 'could_not_go_on', params: {} });
    throw error;
  }
}

/**
 * Runs the import to its end (`done`), or until `abortSignal` fires (`stopped`: a new job continues), or until nothing is left to
 * do (`over`: it was cancelled, its list is gone, or another process runs it).
 */
export async function runListImport(ctx: Context, key: ImportKey, abortSignal: AbortSignal): Promise<RunOutcome> {
  const found = await inTransaction(ctx, async ({ db }) => {
    // Whoever removes a field of the list has locked it: what is read of the fields after this is without the removed one.
    await waitForFieldChanges(db, key);
    return markRunning(db, key);
  });
  if (!found) return 'over';
  const outcome = await writeUnlessRefused(ctx, found, abortSignal);
  if (outcome === 'done') {
    await inTransaction(ctx, ({ db }) => endImport(db, found, { status: 'done' }));
    await refreshPlanner(ctx.db, found);
  }
  if (outcome === 'stopped') await enqueueImportRun(ctx.db, found);
  ctx.log.info(`import.${outcome}`, { import: found.uid, ...(outcome === 'done' ? {} : { status: found.status }) });
  return outcome;
}

async function failImport(ctx: Context, key: ImportKey, failure: ImportFailure): Promise<void> {
  await inTransaction(ctx, ({ db }) => endImport(db, key, { status: 'failed', failure }));
}

/** What is thrown when the subscription ended, or was not paid for in time. */
const WITHOUT_PLAN = ['SUBSCRIPTION_ENDED', 'SUBSCRIPTION_REQUIRED'];

/** A subscription that ends meanwhile ends the import too; people that were imported stay. */
async function writeUnlessRefused(ctx: Context, found: ListImport, abortSignal: AbortSignal): Promise<RunOutcome> {
  try {
    return await writeSlices(ctx, found, abortSignal);
  } catch (error) {
    if (!(error instanceof WrongStateError && WITHOUT_PLAN.includes(error.code))) throw error;
    await failImport(ctx, found, { code: 'subscription_ended', params: {} });
    return 'over';
  }
}

async function writeSlices(ctx: Context, found: ListImport, abortSignal: AbortSignal): Promise<RunOutcome> {
  const fields = await fieldsOfList(ctx.db, { customerId: found.customerId, id: found.listId });
  const listUid = (await uidOfList(ctx.db, { customerId: found.customerId, id: found.listId })) ?? '';
  const [customer] = await customerUidsOf(ctx.db, [found.customerId]);
  const plugins = createAskAboutRow(ctx.hooks, {
    uids: { listUid, importUid: found.uid, customerUid: customer?.uid ?? '' },
    tags: fields.map(({ tag }) => tag),
  });
  const reader = createPersonReader({ columns: found.columns, fields, tag: found.tag, plugins });
  const defaults = defaultValues(fields);
  const requiredTags = fields.filter(({ tag, required }) => required && !(tag in defaults)).map(({ tag }) => tag);
  const plannedMembers = await refreshPlanner(ctx.db, found);
  const run: ImportRun = {
    found,
    reader,
    defaults,
    requiredTags,
    rememberedTags: new Set(),
    checksLimit: false,
    plannedMembers,
    notifiedAt: 0,
  };
  const linesMax = ctx.installation.limits.importBatchSize;
  let writing = Promise.resolve(true);
  try {
    for await (const slice of readSlices(ctx.database, found, { reader, linesMax })) {
      if (!(await writing)) return 'over';
      if (abortSignal.aborted) return 'stopped';
      writing = writeImportSlice(ctx, run, slice);
      // Awaited soon; until then a failure must count as handled.
      writing.catch(() => undefined);
    }
    return (await writing) ? 'done' : 'over';
  } finally {
    await Promise.allSettled([writing]);
  }
}
