/**
 * Starts an import whose file is complete: by our own job, or by the plugin that has set `dispatch_list_import_job`. The plugin is
 * called in a job of its own, so a plugin that fails, or a process that dies meanwhile, loses no import.
 */
import type { Queryable } from '../../../db/database.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import { dispatchImportJob, runImportJob } from '../../../jobs/import-jobs.ts';
import { inTransaction, type Context } from '../../context.ts';
import { uidOfList } from '../list-store.ts';
import { endImport, findImport } from './list-import-store.ts';
import type { ListImport } from './list-import.ts';

const HOOK = 'dispatch_list_import_job';

type QueuedImport = Pick<ListImport, 'customerId' | 'id' | 'uid'>;

/** Enqueues our own job, which exists once for each import. */
export async function enqueueImportRun(db: Queryable, { customerId, id, uid }: QueuedImport): Promise<void> {
  const payload = { customerId: String(customerId), importId: String(id) };
  await enqueue(db, runImportJob, payload, { key: `import:${uid}` });
}

/** Enqueues what starts the import. */
export async function enqueueImport({ db, hooks }: Context, found: QueuedImport): Promise<void> {
  if (hooks.performer(HOOK) === undefined) return enqueueImportRun(db, found);
  const payload = { customerId: String(found.customerId), importUid: found.uid };
  await enqueue(db, dispatchImportJob, payload, { key: `import-dispatch:${found.uid}` });
}

/**
 * Has the plugin start the import, or starts it when no plugin does so any more. When the last try fails, the import is failed,
 * unless the plugin has started it before it failed. Throws HookError `BEHAVIOR_FAILED`.
 */
export async function dispatchImport(
  ctx: Context,
  { customerId, importUid }: { readonly customerId: bigint; readonly importUid: string },
  { isLastTry }: { readonly isLastTry: boolean },
): Promise<void> {
  const found = await findImport(ctx.db, { customerId, uid: importUid });
  if (found?.status !== 'queued') return;
  const plugin = ctx.hooks.performer(HOOK);
  if (plugin === undefined) return enqueueImportRun(ctx.db, found);
  const listUid = await uidOfList(ctx.db, { customerId, id: found.listId });
  if (listUid === undefined) return;
  let isStarted = false;
  const run = async (): Promise<void> => {
    await enqueueImportRun(ctx.db, found);
    isStarted = true;
  };
  try {
    await ctx.hooks.perform(HOOK, { listUid, importUid, run });
    ctx.log.info('import.dispatched', { import: importUid, plugin });
  } catch (error) {
    if (isLastTry && !isStarted) await failQueuedImport(ctx, found);
    throw error;
  }
}

/** One that an earlier try has started may be running. */
async function failQueuedImport(ctx: Context, found: QueuedImport): Promise<void> {
  await inTransaction(ctx, async ({ db }) => {
    const now = await findImport(db, found, true);
    if (now?.status !== 'queued') return;
    await endImport(db, found, { status: 'failed', failure: { code: 'could_not_go_on', params: {} } });
  });
}
