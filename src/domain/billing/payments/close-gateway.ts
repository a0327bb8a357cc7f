/**
 * The job that closes at its vendor what is left of a payment gateway: open payments and subscriptions are cancelled, saved methods deleted. Then the
 * gateway is deleted here. A vendor that does not answer does not keep it for ever: after the last try the log says what was left there.
 */
import { messageOf } from '../../../lib/errors.ts';
import { closeGatewayJob } from '../../../jobs/billing-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import { installationHold } from '../../accounts/installation-hold-read-model.ts';
import { inTransaction, type Context } from '../../context.ts';
import { onHold } from '../billing-errors.ts';
import { workOnCustomer } from '../billing-work.ts';
import { stopTriesOf } from '../saved-methods/charge-time-store.ts';
import { methodsOfGateway, paymentsOfGateway, stopReading } from './close-gateway-store.ts';
import { notSaid } from './close-payments.ts';
import { isCharging } from './end-open-try.ts';
import { gatewayOf } from '../gateways/gateway-of.ts';
import { deleteGatewayRow, findGateway } from '../gateways/payment-gateway-store.ts';
import type { StoredGateway } from '../gateways/payment-gateway.ts';
import { intentForGateway } from './intent-for-gateway.ts';
import { moveIntent } from './move-intent.ts';
import { isOpen, type Payment } from './payment-intent.ts';
import { eraseMethodData, markRemoved, type StoredMethod } from '../saved-methods/payment-method-store.ts';
import { findPayment, unshownPayments } from './payment-store.ts';
import { cancelAtVendor } from '../remote/cancel-remote.ts';
import { showUnshown } from '../remote/close-remotes.ts';
import { liveRemotes } from '../remote/remote-subscription-store.ts';
import { removeAtVendor } from '../saved-methods/remove-method.ts';
import { syncPayment } from './sync-payments.ts';

/** Asked at the same time: a vendor allows some 25 requests a second for each account. */
const AT_ONCE = 8;
/** Of a run; the next one goes on. */
const ITEMS_MAX = 400;
/** A charge that has begun in the moment of the deletion, and the next run of many. */
const AGAIN_SECONDS = { charging: 3_600, more: 1 } as const;
const LEFT_SHOWN_MAX = 20;

/** Repeating it is harmless. Rejects when the vendor does not answer, unless it is the last try. */
export async function closeGateway(
  ctx: Context,
  { gatewayUid, isLastTry }: { gatewayUid: string; isLastTry: boolean },
): Promise<void> {
  const gateway = await findGateway(ctx.db, gatewayUid);
  if (!gateway || gateway.deletingAt === null) return;
  if (await installationHold(ctx.db)) throw onHold();
  const left: string[] = [];
  const payments = await paymentsOfGateway(ctx.db, gateway, ITEMS_MAX);
  const open = await eachOf(payments, left, (payment) => closePayment(ctx, payment));
  // What is charging now has its end, which the sync finds through this gateway.
  if (open.includes('charging')) return again(ctx, gateway, 'charging');
  await eachOf([gateway], left, async ({ id }) => showUnshown(ctx, await unshownPayments(ctx.db, { gatewayId: id })));
  const remotes = await liveRemotes(ctx.db, { gatewayId: gateway.id });
  const named = remotes.map((remote) => ({ ...remote, uid: remote.remoteId }));
  await eachOf(named, left, (remote) => cancelAtVendor(ctx, remote));
  const methods = await methodsOfGateway(ctx.db, gateway, ITEMS_MAX);
  await eachOf(methods, left, (method) => closeMethod(ctx, method));
  if (left.length > 0 && !isLastTry) throw new Error(`Its vendor did not close everything: ${left[0]}`);
  if (left.length > 0)
    ctx.log.error('billing.gateway_left', {
      gateway: gatewayUid,
      count: left.length,
      left: left.slice(0, LEFT_SHOWN_MAX),
    });
  else if (payments.length === ITEMS_MAX || methods.length === ITEMS_MAX) return again(ctx, gateway, 'more');
  await deleteGatewayRow(ctx.db, gateway);
  ctx.log.info('billing.gateway_deleted', { gateway: gatewayUid });
}

/** Runs some at a time; what fails is written to `left`. */
async function eachOf<Item extends { readonly uid: string }, Done>(
  items: readonly Item[],
  left: string[],
  act: (item: Item) => Promise<Done>,
): Promise<Done[]> {
  const done: Done[] = [];
  const waiting = [...items];
  const run = async () => {
    for (let item = waiting.shift(); item; item = waiting.shift()) {
      try {
        done.push(await act(item));
      } catch (error) {
        left.push(`${item.uid}: ${messageOf(error)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, run));
  return done;
}

/** Cancelled here first, then there; what was paid there meanwhile is used as late money. */
async function closePayment(ctx: Context, payment: Payment): Promise<'closed' | 'charging'> {
  const now = await workOnCustomer({ ...ctx, viewer: null }, payment.customerId, async (work) => {
    const found = await findPayment(work.ctx.db, payment);
    if (!found || isCharging(found)) return found;
    const reason = 'Its payment gateway was deleted.';
    return (isOpen(found) && (await moveIntent(work, found, { to: 'CANCELLED', reason }))) || found;
  });
  if (now && isCharging(now)) return 'charging';
  if (!now || now.reference === null) return 'closed';
  const open = await gatewayOf(ctx, now);
  if (!open) throw new Error('The plugin of the payment gateway is not active.');
  const intent = await intentForGateway(ctx, now);
  if (open.can('cancelIntent')) await open.call(async (service) => service.cancelIntent?.(intent));
  if (!(await syncPayment(ctx, now)) && now.remotePlanId !== null) throw notSaid();
  await stopReading(ctx.db, now);
  return 'closed';
}

async function closeMethod(ctx: Context, method: StoredMethod): Promise<void> {
  await inTransaction(ctx, async ({ db }) => {
    await markRemoved(db, method, ctx.clock.now());
    await stopTriesOf(db, method);
  });
  await removeAtVendor(ctx, method);
  await eraseMethodData(ctx.db, method);
}

async function again(ctx: Context, { uid }: StoredGateway, why: keyof typeof AGAIN_SECONDS): Promise<void> {
  const options = { key: `close-gateway-again:${uid}`, delaySeconds: AGAIN_SECONDS[why] };
  await enqueue(ctx.db, closeGatewayJob, { gatewayUid: uid }, options);
}
