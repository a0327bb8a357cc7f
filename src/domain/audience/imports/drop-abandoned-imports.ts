/** Uploads that nobody finished must not fill the database. */
import { sql } from '../../../db/database.ts';
import { inTransaction, type Context } from '../../context.ts';
import { endImport } from './list-import-store.ts';
import { UPLOAD_HOURS_MAX, type ImportKey } from './list-import.ts';

/** Cancels the imports that have been uploading for a day and answers how many they were. */
export async function dropAbandonedImports(ctx: Context): Promise<number> {
  const abandoned = await ctx.db.query<ImportKey>(sql`
    SELECT customer_id AS "customerId", id FROM mail_list_import
     WHERE status = 'uploading' AND created_at < now() - make_interval(hours => ${UPLOAD_HOURS_MAX})`);
  for (const key of abandoned) {
    await inTransaction(ctx, ({ db }) =>
      endImport(db, key, { status: 'cancelled', failure: { code: 'upload_not_finished', params: {} } }),
    );
  }
  if (abandoned.length > 0) ctx.log.info('imports.dropped', { imports: abandoned.length });
  return abandoned.length;
}
