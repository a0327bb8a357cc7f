/** Cancels a transactional mail that waits for its time. */
import { inTransaction, viewerOf, type Context } from '../../context.ts';
import { cancelMail } from './cancel-store.ts';
import { findOwnedMail } from './mail-log.ts';
import type { LoggedMail } from './mail-log-read-model.ts';
import { notWaiting } from './transactional-errors.ts';

/** The mail as it is afterwards. Throws WrongStateError `TRANSACTIONAL_NOT_WAITING`, NotFoundError `TRANSACTIONAL_NOT_FOUND`. */
export async function cancelTransactional(ctx: Context, uid: string): Promise<LoggedMail> {
  const { customerId } = viewerOf(ctx);
  return inTransaction(ctx, async (tx) => {
    const { id, state } = await findOwnedMail(tx, uid);
    if (!(await cancelMail(tx.db, { customerId, id }))) throw notWaiting(state);
    return findOwnedMail(tx, uid);
  });
}
