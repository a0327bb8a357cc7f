/** Deletes a bounce handler; its mailbox does not change. */
import { inTransaction, type Context } from '../context.ts';
import { deleteHandlerRow } from './bounce-handler-store.ts';
import { findOwnedBounceHandler } from './find-owned-bounce-handler.ts';

/** Throws NotFoundError, ForeignResourceError. */
export async function deleteBounceHandler(ctx: Context, { uid }: { uid: string }): Promise<{ uid: string }> {
  return inTransaction(ctx, async (tx) => {
    const handler = await findOwnedBounceHandler(tx, uid, { lock: true });
    await deleteHandlerRow(tx.db, handler);
    return { uid };
  });
}
