/** Finds a sending domain by its uid for the caller: own, foreign or unknown. */
import { isUid } from '../../../lib/ids.ts';
import { viewerOf, type Context } from '../../context.ts';
import { domainNotFound, foreignDomain } from './sending-domain-errors.ts';
import { domainUidExists, findDomain } from './sending-domain-store.ts';
import type { SendingDomain } from './sending-domain.ts';

/** The caller's domain. Throws NotFoundError `SENDING_DOMAIN_NOT_FOUND`, ForeignResourceError of the same code. */
export async function findOwnedSendingDomain(
  ctx: Context,
  uid: string,
  options: { lock?: boolean } = {},
): Promise<SendingDomain> {
  const { customerId } = viewerOf(ctx);
  if (!isUid(uid)) throw domainNotFound();
  const domain = await findDomain(ctx.db, { customerId, uid }, options.lock);
  if (domain) return domain;
  throw (await domainUidExists(ctx.db, uid)) ? foreignDomain() : domainNotFound();
}
