/** The caller's deleted objects that are still being erased (erase-deleted.ts). */
import { viewerOf, type Context } from '../context.ts';
import { deletionsOf, type DeletionUnderWay } from './deletion-store.ts';

/** The oldest first. */
export function deletionsUnderWay(ctx: Context): Promise<DeletionUnderWay[]> {
  return deletionsOf(ctx.db, viewerOf(ctx).customerId);
}
