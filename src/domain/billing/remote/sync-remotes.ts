/**
 * The host's sync of subscriptions that vendors keep (specification 4.13): reads them one by one when money is due and on request, and the vendor's
 * whole list each hour. What happened while the installation was down is found by the next run. Reading changes nothing at a vendor.
 */
import { messageOf, PluginFailedError } from '../../../lib/errors.ts';
import { GatewayError } from '../../../plugin-api/index.ts';
import { installationHold } from '../../accounts/installation-hold-read-model.ts';
import type { Context } from '../../context.ts';
import { visibleSubscription } from '../billing-work.ts';
import { gatewayOf } from '../gateways/gateway-of.ts';
import type { OpenGateway } from '../gateways/open-gateway.ts';
import type { Payment } from '../payments/payment-intent.ts';
import { findPaymentByUid } from '../payments/payment-store.ts';
import type { Subscription } from '../subscriptions/subscription.ts';
import { applyFound } from './apply-found-remote.ts';
import { findLatePayments } from './late-periods.ts';
import { readRemote, type ReadRemote } from './remote-answers.ts';
import { noteGone } from './note-gone-remote.ts';
import { dueRemotes, liveRemotes, noteRemote, type Remote } from './remote-subscription-store.ts';
import { takeDueWalks } from './remote-walk-store.ts';
import { walkGateway, walkLeaseEnd } from './walk-gateway.ts';

const AT_ONCE = 8;
/** The next run comes in a minute; one of them must not run into many. */
const RUN_MS_MAX = 240_000;
const HOUR_MS = 60 * 60_000;
/** A page that is loaded again at once does not ask again. */
const FRESH_MS = 2_000;

/** What is due at all vendors. None while the installation is on hold: what they keep belongs to the original. */
export async function syncRemotes(ctx: Context): Promise<void> {
  if (await installationHold(ctx.db)) return;
  const at = ctx.clock.now();
  const began = performance.now();
  while (performance.now() - began < RUN_MS_MAX) {
    const due = await dueRemotes(ctx.db, at, AT_ONCE);
    if (due.length === 0) break;
    await Promise.all(due.map((row) => contained(ctx, row, () => syncRemote(ctx, row))));
  }
  for (const gatewayId of await takeDueWalks(ctx.db, { at, until: walkLeaseEnd(at) }))
    await walkGateway(ctx, gatewayId);
}

/** Reads the vendor's subscriptions of one of ours now. Throws NotFoundError, ForeignResourceError. */
export async function refreshSubscription(ctx: Context, { uid }: { uid: string }): Promise<Subscription> {
  const subscription = await visibleSubscription(ctx, uid);
  if (await installationHold(ctx.db)) return subscription;
  await syncRemotesOf(ctx, subscription, { readsMethod: true });
  return subscription;
}

/** Reads the vendor's subscriptions of one of ours, unless that was done a moment ago. What fails is noted in its row. */
export async function syncRemotesOf(
  ctx: Context,
  { customerId, id }: Pick<Subscription, 'customerId' | 'id'>,
  { readsMethod = false } = {},
): Promise<void> {
  const at = ctx.clock.now().getTime();
  for (const row of await liveRemotes(ctx.db, { customerId, subscriptionId: id }))
    if (row.syncedAt === null || at - row.syncedAt.getTime() >= FRESH_MS)
      await contained(ctx, row, () => syncRemote(ctx, row, { readsMethod }));
}

/** The subscription that a payment has begun, by the vendor's id. Never throws for a vendor that fails: the list has it, too. */
export async function syncBegunRemote(ctx: Context, payment: Payment, remoteId: string): Promise<void> {
  try {
    const open = await gatewayOf(ctx, payment);
    const remote = open?.can('getRemoteSubscription') ? await readOne(ctx, open, remoteId) : undefined;
    if (open && remote?.intentUid === payment.uid) await applyFound(ctx, open, { payment, remote });
  } catch (error) {
    if (!(error instanceof GatewayError) && !(error instanceof PluginFailedError)) throw error;
    ctx.log.warn('billing.remote_not_read', { remote: remoteId, message: messageOf(error) });
  }
}

async function syncRemote(ctx: Context, row: Remote, { readsMethod = false } = {}): Promise<void> {
  const payment = await findPaymentByUid(ctx.db, row.intentUid);
  const open = await gatewayOf(ctx, row);
  if (!payment || !open?.can('getRemoteSubscription'))
    return later(ctx, row, 'The plugin of its payment gateway is not active.');
  const remote = await readOne(ctx, open, row.remoteId);
  if (!remote) return void (await noteGone(ctx, row));
  if (remote.intentUid !== row.intentUid)
    return later(ctx, row, `The vendor's subscription "${row.remoteId}" carries another payment.`);
  const applied = await applyFound(ctx, open, { payment, remote, readsMethod });
  if (!applied) return later(ctx, row, 'The payment that began it is no longer one of this gateway and subscription.');
  await findLatePayments(ctx, open, row);
}

async function readOne(ctx: Context, open: OpenGateway, id: string): Promise<ReadRemote | undefined> {
  const answered = await open.call(async (service) => service.getRemoteSubscription?.(id));
  if (answered === undefined) return undefined;
  const remote = readRemote([ctx, open], answered);
  // Written as a second one, it would leave the one that was asked for as it is.
  if (remote.id !== id)
    throw new GatewayError('unavailable', `The plugin was asked for "${id}" and answered with "${remote.id}".`);
  return remote;
}

async function later(ctx: Context, row: Remote, error: string): Promise<void> {
  await noteRemote(ctx.db, row, { error, nextSyncAt: new Date(ctx.clock.now().getTime() + HOUR_MS) });
}

/** One that fails must neither stop the others nor be due at once again. */
async function contained(ctx: Context, row: Remote, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    ctx.log.error('billing.remote_sync_failed', { remote: row.remoteId, message: messageOf(error) });
    await later(ctx, row, messageOf(error));
  }
}
