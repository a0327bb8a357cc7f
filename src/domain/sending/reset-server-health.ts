/** For the owner of a repaired server: it is tried at once, instead of at the end of its pause. */
import type { Queryable } from '../../db/database.ts';
import { sendBatchJob } from '../../jobs/campaign-jobs.ts';
import { wakeJobs } from '../../jobs/wake-jobs.ts';
import { inTransaction, type Context } from '../context.ts';
import { findOwnedSendingServer } from './find-owned-sending-server.ts';
import { resetHealth } from './routing/sending-health-store.ts';
import { BATCH_WAIT_SECONDS_MAX } from './routing/waiting.ts';
import { liftWarmUpStop } from './sending-server-store.ts';
import type { SendingServer } from './sending-server.ts';

/**
 * Clears the health of the server and of the providers behind it, and continues a stopped warm-up. Throws NotFoundError,
 * ForeignResourceError.
 */
export async function resetServerHealth(ctx: Context, { uid }: { uid: string }): Promise<SendingServer> {
  return inTransaction(ctx, async (tx) => {
    const server = await findOwnedSendingServer(tx, uid, { lock: true });
    await tryAtOnce(tx.db, server);
    await liftWarmUpStop(tx.db, server);
    return server;
  });
}

/** Clears the server's health, and wakes batches that may wait for it. */
export async function tryAtOnce(
  db: Queryable,
  { id, customerId, isSystem }: Pick<SendingServer, 'id' | 'customerId' | 'isSystem'>,
): Promise<void> {
  await resetHealth(db, id);
  await wakeJobs(db, sendBatchJob, {
    customerId: isSystem ? undefined : customerId,
    dueWithinSeconds: BATCH_WAIT_SECONDS_MAX,
  });
}
