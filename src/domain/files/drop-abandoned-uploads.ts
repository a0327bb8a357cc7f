/** Deletes unfinished uploads. */
import type { Context } from '../context.ts';
import { deleteAbandonedUploads } from './file-store.ts';
import { UPLOAD_HOURS_MAX } from './file.ts';

/** Returns their number. */
export async function dropAbandonedUploads(ctx: Context): Promise<number> {
  const dropped = await deleteAbandonedUploads(ctx.db, UPLOAD_HOURS_MAX);
  if (dropped > 0) ctx.log.info('files.uploads_dropped', { uploads: dropped });
  return dropped;
}
