/** Finds a bounce handler by its uid for the caller: own, foreign or unknown. */
import { isUid } from '../../lib/ids.ts';
import { viewerOf, type Context } from '../context.ts';
import { foreignHandler, handlerNotFound } from './bounce-handler-errors.ts';
import { findHandler, handlerExists } from './bounce-handler-store.ts';
import type { BounceHandler } from './bounce-handler.ts';

/** The caller's handler. Throws NotFoundError `BOUNCE_HANDLER_NOT_FOUND`, ForeignResourceError of the same code. */
export async function findOwnedBounceHandler(
  ctx: Context,
  uid: string,
  options: { lock?: boolean } = {},
): Promise<BounceHandler> {
  const { customerId } = viewerOf(ctx);
  if (!isUid(uid)) throw handlerNotFound();
  const handler = await findHandler(ctx.db, { customerId, uid }, options.lock);
  if (handler) return handler;
  throw (await handlerExists(ctx.db, uid)) ? foreignHandler() : handlerNotFound();
}
