/** Starts the verification of a list, and of what an import has added. The job does the work (run-verification). */
import { newUid } from '../../lib/ids.ts';
import { parseInput } from '../../lib/text.ts';
import { lockOwnedList } from '../audience/find-owned-list.ts';
import { importToVerify } from '../audience/imports/import-to-verify-read-model.ts';
import type { ImportKey } from '../audience/imports/list-import.ts';
import { inTransaction, type Context } from '../context.ts';
import { enqueueVerification } from './enqueue-verification.ts';
import { requireVerifier } from './require-verifier.ts';
import { usableVerificationServer } from './usable-server-read-model.ts';
import { listBeingVerified } from './verification-errors.ts';
import { hasOpenVerification, insertVerification } from './verification-store.ts';
import { startVerificationInput, type Verification } from './verification.ts';

export interface StartVerificationInput {
  readonly listUid: string;
  readonly verificationServer?: string | null | undefined;
  readonly olderThanDays?: number | null | undefined;
  readonly undeliverable?: string | null | undefined;
}

/**
 * Queues the verification of the caller's list. Throws ValidationError (`NO_VERIFICATION_SERVER`), WrongStateError `LIST_BEING_VERIFIED`,
 * `SUBSCRIPTION_ENDED`, `SUBSCRIPTION_REQUIRED`; NotFoundError `LIST_NOT_FOUND`, ForeignResourceError.
 */
export async function startVerification(
  ctx: Context,
  { listUid, ...input }: StartVerificationInput,
): Promise<Verification> {
  const { verificationServer, olderThanDays, undeliverable } = parseInput(startVerificationInput, input);
  return inTransaction(ctx, async (inner) => {
    const { customerId, id: listId } = await lockOwnedList(inner, listUid);
    const server = await requireVerifier(inner.db, { customerId, uid: verificationServer ?? null });
    if (await hasOpenVerification(inner.db, { customerId, listId })) throw listBeingVerified();
    const run = await insertVerification(inner.db, {
      ...{ customerId, listId, uid: newUid(), serverUid: server.uid, serverName: server.name },
      olderThanDays: olderThanDays ?? null,
      suppresses: undeliverable === 'suppress',
    });
    await enqueueVerification(inner.db, run);
    return run;
  });
}

/**
 * Queues the verification of the people that an import has added, if whoever uploaded it wanted that. Where no server can be used any more,
 * the verification pauses and says so.
 */
export async function verifyImported(ctx: Context, key: ImportKey): Promise<void> {
  await inTransaction(ctx, async ({ db }) => {
    const found = await importToVerify(db, key);
    if (!found || found.added === 0) return;
    const { customerId, listId, uid: importUid, verifyBy, suppresses, afterId } = found;
    const server = await usableVerificationServer(db, { customerId, uid: verifyBy });
    const run = await insertVerification(db, {
      ...{ customerId, listId, uid: newUid(), importUid, suppresses, afterId },
      serverUid: server?.uid ?? verifyBy ?? '',
      serverName: server?.name ?? '',
    });
    await enqueueVerification(db, run);
  });
}
