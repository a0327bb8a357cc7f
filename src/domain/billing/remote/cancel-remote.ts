/** The job that cancels a subscription at its vendor, because ours is cancelled, has ended or is paid in another way. */
import { messageOf } from '../../../lib/errors.ts';
import { GatewayError } from '../../../plugin-api/index.ts';
import { installationHold } from '../../accounts/installation-hold-read-model.ts';
import type { Context } from '../../context.ts';
import { onHold } from '../billing-errors.ts';
import { workOnCustomer } from '../billing-work.ts';
import { gatewayOf } from '../gateways/gateway-of.ts';
import type { OpenGateway } from '../gateways/open-gateway.ts';
import { findPaymentByUid } from '../payments/payment-store.ts';
import { findSubscription } from '../subscriptions/subscription-store.ts';
import { readRemote, type ReadRemote } from './remote-answers.ts';
import { remoteInForce } from './remote-in-force-read-model.ts';
import { GONE, noteGone } from './note-gone-remote.ts';
import { findRemote, noteRemote, type Remote, type RemoteKey } from './remote-subscription-store.ts';
import { applyFound } from './apply-found-remote.ts';

/** The job has its own tries; the sync enqueues it anew, which starts them again from the first. */
const CANCEL_AGAIN_MS = 60 * 60 * 1_000;

/** Rejects when the vendor cannot be asked: the queue tries again, and the administrator sees why. Nothing is done when ours goes on after all. */
export async function cancelRemote(ctx: Context, key: RemoteKey): Promise<void> {
  const row = await findRemote(ctx.db, key);
  // One that the vendor did not know may be there with the right keys.
  if (!row || (row.isEnded && row.goneSaidAt === null) || !(await isWithdrawn(ctx, row))) return;
  await cancelAtVendor(ctx, row);
}

/** Whatever ours is: for a customer who is deleted. */
export async function cancelAtVendor(ctx: Context, row: Remote): Promise<void> {
  // In a restored copy the vendor's subscription is the original's.
  if (await installationHold(ctx.db)) throw onHold();
  try {
    const open = await gatewayOf(ctx, row);
    if (!open?.can('cancelRemoteSubscription')) throw new Error('The plugin of its payment gateway is not active.');
    const remote = await cancelled(ctx, open, row);
    const payment = await findPaymentByUid(ctx.db, row.intentUid);
    if (remote && payment) await applyFound(ctx, open, { payment, remote });
    else if (!(await noteGone(ctx, row))) throw new Error(`${GONE} It is asked again in an hour.`);
  } catch (error) {
    const message = `It could not be cancelled at the vendor: ${messageOf(error)}`;
    ctx.log.error('billing.remote_not_cancelled', { remote: row.remoteId, message });
    await noteRemote(ctx.db, row, {
      error: message,
      nextSyncAt: new Date(ctx.clock.now().getTime() + CANCEL_AGAIN_MS),
    });
    throw error;
  }
}

/** A vendor refuses what was cancelled before: reading it says so. Undefined: it knows none. */
async function cancelled(ctx: Context, open: OpenGateway, { remoteId }: Remote): Promise<ReadRemote | undefined> {
  try {
    return readRemote([ctx, open], await open.call(async (service) => service.cancelRemoteSubscription?.(remoteId)));
  } catch (error) {
    if (!(error instanceof GatewayError) || error.kind !== 'refused' || !open.can('getRemoteSubscription')) throw error;
    const answered = await open.call(async (service) => service.getRemoteSubscription?.(remoteId));
    const remote = answered && readRemote([ctx, open], answered);
    if (remote && !remote.isEnded) throw error;
    return remote;
  }
}

/** Ours is no longer active, this one does not pay it, or the customer is disabled. */
function isWithdrawn(ctx: Context, row: Remote): Promise<boolean> {
  return workOnCustomer({ ...ctx, viewer: null }, row.customerId, async ({ ctx: { db }, customer }) => {
    if (customer.status !== 'active') return true;
    const subscription = await findSubscription(db, { customerId: row.customerId, id: row.subscriptionId });
    if (subscription?.status !== 'active') return true;
    return (await remoteInForce(db, subscription))?.remote?.id !== row.id;
  });
}
