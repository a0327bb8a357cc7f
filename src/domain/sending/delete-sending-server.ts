/** Deletes a sending server that no campaign needs which is unfinished or ready to run (decisions D30, D60). */
import { inTransaction, type Context } from '../context.ts';
import { findOwnedSendingServer } from './find-owned-sending-server.ts';
import { serverInUse } from './sending-server-errors.ts';
import { campaignsThrough, deleteServerRow } from './sending-server-store.ts';

/** Campaigns named in the error message. */
const CAMPAIGNS_NAMED_MAX = 5;

/** Deletes the server. Throws WrongStateError `SENDING_SERVER_IN_USE` naming the campaigns; NotFoundError, ForeignResourceError. */
export async function deleteSendingServer(ctx: Context, { uid }: { uid: string }): Promise<{ uid: string }> {
  return inTransaction(ctx, async (tx) => {
    const server = await findOwnedSendingServer(tx, uid, { lock: true });
    const campaigns = await campaignsThrough(tx.db, server, CAMPAIGNS_NAMED_MAX);
    // Other tenants' campaign names must not be revealed.
    if (campaigns.length > 0)
      throw serverInUse(campaigns.map(({ name, isOwn }) => (isOwn ? `"${name}"` : "another customer's")));
    await deleteServerRow(tx.db, server);
    return { uid };
  });
}
