/** Stops an import. People that were imported already stay on the list; the rest of the file is dropped. */
import { inTransaction, type Context } from '../../context.ts';
import { importOver } from './list-import-errors.ts';
import { endImport } from './list-import-store.ts';
import type { ListImport } from './list-import.ts';
import { lockOwnedImport, findOwnedImport } from './find-owned-import.ts';

/**
 * Cancels the caller's import and returns it; no line is imported after that. Throws WrongStateError `IMPORT_OVER`, NotFoundError
 * `IMPORT_NOT_FOUND`, ForeignResourceError.
 */
export async function cancelImport(ctx: Context, uid: string): Promise<ListImport> {
  return inTransaction(ctx, async (inner) => {
    // Waits for the batch that is being written: its lines count.
    const found = await lockOwnedImport(inner, uid);
    if (!(await endImport(inner.db, found, { status: 'cancelled' }))) throw importOver(found.status);
    return findOwnedImport(inner, uid);
  });
}
