/** Reads the whole list of a vendor's subscriptions. */
import { messageOf } from '../../../lib/errors.ts';
import type { Context } from '../../context.ts';
import { gatewayOf } from '../gateways/gateway-of.ts';
import type { OpenGateway } from '../gateways/open-gateway.ts';
import type { Payment } from '../payment-intent.ts';
import { findPaymentByUid } from '../payment-store.ts';
import { applyFound } from './apply-found-remote.ts';
import type { ReadRemote } from './remote-answers.ts';
import { noteWalk, UNKNOWN_MAX, writeUnknown } from './remote-walk-store.ts';
import { walkRemotes } from './walk-remotes.ts';

/** The whole list of a vendor. What belongs to nothing here is listed for the administrator, and left alone. */
export async function walkGateway(ctx: Context, gatewayId: bigint): Promise<void> {
  const unknown: ReadRemote[] = [];
  const at = ctx.clock.now();
  try {
    const open = await gatewayOf(ctx, { gatewayId });
    if (!open?.can('getRemoteSubscriptions'))
      return await noteWalk(ctx.db, gatewayId, 'The plugin of the payment gateway is not active.');
    for await (const remote of walkRemotes(ctx, open)) {
      const payment = remote.intentUid === null ? undefined : await findPaymentByUid(ctx.db, remote.intentUid);
      if (payment?.gatewayId === gatewayId && payment.remotePlanId !== null)
        await applyListed(ctx, open, { payment, remote });
      else if (unknown.length < UNKNOWN_MAX) unknown.push(remote);
    }
    await writeUnknown(ctx.db, { gatewayId, unknown, at });
    await noteWalk(ctx.db, gatewayId, null);
  } catch (error) {
    ctx.log.error('billing.remote_walk_failed', { gateway: String(gatewayId), message: messageOf(error) });
    await noteWalk(ctx.db, gatewayId, messageOf(error));
  }
}

async function applyListed(
  ctx: Context,
  open: OpenGateway,
  found: { readonly payment: Payment; readonly remote: ReadRemote },
): Promise<void> {
  try {
    await applyFound(ctx, open, found);
  } catch (error) {
    ctx.log.error('billing.remote_sync_failed', { remote: found.remote.id, message: messageOf(error) });
  }
}
