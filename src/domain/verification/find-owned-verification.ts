/** Finds a verification by its uid for the caller: own, foreign or unknown. */
import { isUid } from '../../lib/ids.ts';
import { viewerOf, type Context } from '../context.ts';
import { foreignVerification, verificationNotFound } from './verification-errors.ts';
import { findVerification, verificationExists } from './verification-store.ts';
import type { Verification } from './verification.ts';

/** The caller's verification. Throws NotFoundError `VERIFICATION_NOT_FOUND`, ForeignResourceError of the same code. */
export async function findOwnedVerification(ctx: Context, uid: string): Promise<Verification> {
  const { customerId } = viewerOf(ctx);
  const found = isUid(uid) ? await findVerification(ctx.db, { customerId, uid }) : undefined;
  if (found) return found;
  throw isUid(uid) && (await verificationExists(ctx.db, uid)) ? foreignVerification() : verificationNotFound();
}
