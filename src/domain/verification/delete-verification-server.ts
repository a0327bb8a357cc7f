/** Deletes a verification server that no unfinished run uses. Results on people stay. */
import { inTransaction, type Context } from '../context.ts';
import { findOwnedVerificationServer } from './find-owned-verification-server.ts';
import { verificationServerInUse } from './verification-server-errors.ts';
import { deleteVerificationServerRow, openRunsOf } from './verification-server-store.ts';

/** Deletes the server. Throws WrongStateError `VERIFICATION_SERVER_IN_USE`; NotFoundError, ForeignResourceError. */
export async function deleteVerificationServer(ctx: Context, { uid }: { uid: string }): Promise<{ uid: string }> {
  return inTransaction(ctx, async (inner) => {
    const server = await findOwnedVerificationServer(inner, uid, { lock: true });
    const runs = await openRunsOf(inner.db, server);
    if (runs > 0) throw verificationServerInUse(runs);
    await deleteVerificationServerRow(inner.db, server);
    return { uid };
  });
}
