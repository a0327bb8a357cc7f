/** Ends a verification before its end, or lets a paused one go on. Results that people have stay. */
import { inTransaction, type Context } from '../context.ts';
import { enqueueVerification } from './enqueue-verification.ts';
import { findOwnedVerification } from './find-owned-verification.ts';
import { requireVerifier } from './require-verifier.ts';
import { verificationNotPaused, verificationOver } from './verification-errors.ts';
import { endVerification, requeueVerification } from './verification-store.ts';
import type { Verification } from './verification.ts';

/** Addresses that are with the verifier now are still counted. Throws WrongStateError `VERIFICATION_OVER`, NotFoundError, ForeignResourceError. */
export async function cancelVerification(ctx: Context, uid: string): Promise<Verification> {
  return inTransaction(ctx, async (inner) => {
    const found = await findOwnedVerification(inner, uid);
    if (!(await endVerification(inner.db, found, 'cancelled')))
      throw verificationOver((await findOwnedVerification(inner, uid)).status);
    return findOwnedVerification(inner, uid);
  });
}

/**
 * Continues where it was. Throws WrongStateError `VERIFICATION_NOT_PAUSED`, what `requireVerifier` throws, NotFoundError,
 * ForeignResourceError.
 */
export async function resumeVerification(ctx: Context, uid: string): Promise<Verification> {
  return inTransaction(ctx, async (inner) => {
    const found = await findOwnedVerification(inner, uid);
    if (found.status !== 'paused') throw verificationNotPaused(found.status);
    await requireVerifier(inner.db, { customerId: found.customerId, uid: found.serverUid });
    if (!(await requeueVerification(inner.db, found)))
      throw verificationNotPaused((await findOwnedVerification(inner, uid)).status);
    await enqueueVerification(inner.db, found);
    return findOwnedVerification(inner, uid);
  });
}
