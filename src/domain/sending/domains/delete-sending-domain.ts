/** Deletes a sending domain with its keys; its campaigns continue without its signature. */
import { inTransaction, type Context } from '../../context.ts';
import { findOwnedSendingDomain } from './find-owned-sending-domain.ts';
import { deleteDomainRow } from './sending-domain-store.ts';

/** Deletes the domain. Throws NotFoundError, ForeignResourceError. */
export async function deleteSendingDomain(ctx: Context, { uid }: { uid: string }): Promise<{ uid: string }> {
  return inTransaction(ctx, async (tx) => {
    await deleteDomainRow(tx.db, await findOwnedSendingDomain(tx, uid, { lock: true }));
    return { uid };
  });
}
