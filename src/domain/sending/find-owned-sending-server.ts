/** Finds a sending server by its uid for the caller: own, foreign or unknown. */
import { isUid } from '../../lib/ids.ts';
import { viewerOf, type Context } from '../context.ts';
import { foreignServer, serverNotFound } from './sending-server-errors.ts';
import { findServer, serverExists } from './sending-server-store.ts';
import type { StoredServer } from './sending-server.ts';

/** The caller's server. Throws NotFoundError `SENDING_SERVER_NOT_FOUND`, ForeignResourceError of the same code. */
export async function findOwnedSendingServer(
  ctx: Context,
  uid: string,
  options: { lock?: boolean } = {},
): Promise<StoredServer> {
  const { customerId } = viewerOf(ctx);
  if (!isUid(uid)) throw serverNotFound();
  const server = await findServer(ctx.db, { customerId, uid }, options.lock);
  if (server) return server;
  throw (await serverExists(ctx.db, uid)) ? foreignServer() : serverNotFound();
}
