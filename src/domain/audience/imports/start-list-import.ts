/** Starts an import into a list. The file follows in chunks (append-import-chunk), then finish-import-upload. */
import { parseInput } from '../../../lib/text.ts';
import { requireAllowed } from '../../billing/plans/require-allowed.ts';
import { inTransaction, viewerOf, type Context } from '../../context.ts';
import { lockOwnedList } from '../find-owned-list.ts';
import { insertImport } from './list-import-store.ts';
import { startImportInput, type ListImport } from './list-import.ts';

export interface StartListImportInput {
  readonly listUid: string;
  readonly fileName?: string | null | undefined;
}

/**
 * Makes an import in state `uploading` for the caller's list. Throws ForbiddenError `PLAN_DOES_NOT_INCLUDE`,
 * WrongStateError `SUBSCRIPTION_ENDED`, ValidationError, NotFoundError `LIST_NOT_FOUND`,
 * ForeignResourceError.
 */
export async function startListImport(ctx: Context, { listUid, fileName }: StartListImportInput): Promise<ListImport> {
  await requireAllowed(ctx, 'list_import');
  const input = parseInput(startImportInput, { fileName: fileName ?? '' });
  const { userId } = viewerOf(ctx);
  return inTransaction(ctx, async (inner) =>
    insertImport(inner.db, await lockOwnedList(inner, listUid), { ...input, importedBy: userId }),
  );
}
