/** Unfinished uploads must not fill the database. */
import { inTransaction, type Context } from '../../context.ts';
import { abandonedImports, endImport } from './list-import-store.ts';

/** Cancels the imports that have been uploading for a day and returns their number. */
export async function dropAbandonedImports(ctx: Context): Promise<number> {
  const abandoned = await abandonedImports(ctx.db);
  for (const key of abandoned) {
    await inTransaction(ctx, ({ db }) =>
      endImport(db, key, { status: 'cancelled', failure: { code: 'upload_not_finished', params: {} } }),
    );
  }
  if (abandoned.length > 0) ctx.log.info('imports.dropped', { imports: abandoned.length });
  return abandoned.length;
}
