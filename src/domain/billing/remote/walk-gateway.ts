/** Reads the whole list of a vendor's subscriptions. */
import { messageOf } from '../../../lib/errors.ts';
import type { Context } from '../../context.ts';
import { gatewayOf } from '../gateways/gateway-of.ts';
import type { OpenGateway } from '../gateways/open-gateway.ts';
import type { Payment } from '../payments/payment-intent.ts';
import { findPaymentByUid } from '../payments/payment-store.ts';
import { applyFound } from './apply-found-remote.ts';
import type { ReadRemote } from './remote-answers.ts';
import { endWalk, keepWalk, UNKNOWN_MAX, writeUnknown } from './remote-walk-store.ts';
import { walkRemotes } from './walk-remotes.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** A walk says this often that it goes on: 50 pages of the vendor with the smallest ones are far less than an hour. */
const KEPT_EACH = 1_000;

/** A walk whose process died is begun anew then. */
export function walkLeaseEnd(at: Date): Date {
  return new Date(at.getTime() + HOUR_MS);
}

/** The whole list of a vendor. What belongs to nothing here is listed for the administrator, and left alone. */
export async function walkGateway(ctx: Context, gatewayId: bigint): Promise<void> {
  const error = await walk(ctx, gatewayId).catch((thrown: unknown) => {
    ctx.log.error('billing.remote_walk_failed', { gateway: String(gatewayId), message: messageOf(thrown) });
    return messageOf(thrown);
  });
  const at = ctx.clock.now();
  const [soon, later] = [new Date(at.getTime() + MINUTE_MS), new Date(at.getTime() + HOUR_MS)];
  await endWalk(ctx.db, gatewayId, { error, at, soon, later });
}

/** Null, or why it could not be done. */
async function walk(ctx: Context, gatewayId: bigint): Promise<string | null> {
  const unknown: ReadRemote[] = [];
  const at = ctx.clock.now();
  const open = await gatewayOf(ctx, { gatewayId });
  if (!open?.can('getRemoteSubscriptions')) return 'The plugin of the payment gateway is not active.';
  let seen = 0;
  for await (const remote of walkRemotes(ctx, open)) {
    const payment = remote.intentUid === null ? undefined : await findPaymentByUid(ctx.db, remote.intentUid);
    seen += 1;
    if (seen % KEPT_EACH === 0) await keepWalk(ctx.db, gatewayId, walkLeaseEnd(ctx.clock.now()));
    if (payment?.gatewayId === gatewayId && payment.remotePlanId !== null)
      await applyListed(ctx, open, { payment, remote });
    else if (unknown.length < UNKNOWN_MAX) unknown.push(remote);
  }
  await writeUnknown(ctx.db, { gatewayId, unknown, at });
  return null;
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
