/** Finds a verification server by its uid for the caller: own, foreign or unknown. */
import { isUid } from '../../lib/ids.ts';
import { viewerOf, type Context } from '../context.ts';
import { foreignVerificationServer, verificationServerNotFound } from './verification-server-errors.ts';
import { findVerificationServer, verificationServerExists } from './verification-server-store.ts';
import type { VerificationServer } from './verification-server.ts';

/** The caller's server. Throws NotFoundError `VERIFICATION_SERVER_NOT_FOUND`, ForeignResourceError of the same code. */
export async function findOwnedVerificationServer(
  ctx: Context,
  uid: string,
  { lock = false }: { readonly lock?: boolean } = {},
): Promise<VerificationServer> {
  const { customerId } = viewerOf(ctx);
  if (!isUid(uid)) throw verificationServerNotFound();
  const server = await findVerificationServer(ctx.db, { customerId, uid }, lock);
  if (server) return server;
  throw (await verificationServerExists(ctx.db, uid)) ? foreignVerificationServer() : verificationServerNotFound();
}
