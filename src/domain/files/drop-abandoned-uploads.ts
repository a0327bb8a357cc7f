/** Drops uploads that nobody finished. */
import type { Context } from '../context.ts';
import { deleteAbandonedUploads } from './file-store.ts';
import { UPLOAD_HOURS_MAX } from './file.ts';

/** Answers how many there were. */
export function dropAbandonedUploads(ctx: Context): Promise<number> {
  return deleteAbandonedUploads(ctx.db, UPLOAD_HOURS_MAX);
}
