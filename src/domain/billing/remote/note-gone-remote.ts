/** A vendor says that it does not know a subscription that it kept. That may be wrong: the gateway may have the keys of another account for a while. */
import type { Context } from '../../context.ts';
import { workOnCustomer, type BillingWork } from '../billing-work.ts';
import { findPendingInvoice } from '../invoices/invoice-store.ts';
import { findSubscription, saveSubscription } from '../subscriptions/subscription-store.ts';
import { remoteInForce } from './remote-in-force-read-model.ts';
import { findRemote, writeGone, type Remote } from './remote-subscription-store.ts';

/** Believed when it was said twice, this far apart, as for charges that are said to be cancelled. */
const GONE_CONFIRMED_MS = 60 * 60 * 1_000;
export const GONE = 'The vendor does not know this subscription any more.';

/** True: it is believed. Ours is renewed by invoices then, and nothing is ended; the vendor's list shows it if it is there after all. */
export async function noteGone(ctx: Context, row: Remote): Promise<boolean> {
  ctx.log.error('billing.remote_gone', { remote: row.remoteId, message: GONE });
  return workOnCustomer({ ...ctx, viewer: null }, row.customerId, async (work) => {
    const {
      at,
      ctx: { db },
    } = work;
    const wasEnded = (await findRemote(db, row))?.isEnded ?? true;
    const isBelieved = await writeGone(db, row, {
      ...{ error: GONE, at },
      confirmed: new Date(at.getTime() - GONE_CONFIRMED_MS),
      again: new Date(at.getTime() + GONE_CONFIRMED_MS),
    });
    if (isBelieved && !wasEnded) await takeFromVendor(work, row);
    return isBelieved;
  });
}

/** The days of grace were the vendor's, and nobody has an invoice: the next run writes one, with days of its own. */
async function takeFromVendor(work: BillingWork, { customerId, subscriptionId }: Remote): Promise<void> {
  const { db } = work.ctx;
  const subscription = await findSubscription(db, { customerId, id: subscriptionId });
  if (subscription?.status !== 'active' || subscription.graceEndsAt === null) return;
  if ((await findPendingInvoice(db, subscription)) || (await remoteInForce(db, subscription))) return;
  await saveSubscription(db, { ...subscription, graceEndsAt: null }, work.at);
}
