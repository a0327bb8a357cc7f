/**
 * Before a due subscription ends, or its unpaid invoice becomes void, the vendors say whether it was paid: the installation may have been down for
 * longer than the invoice could be paid. They are asked outside of the transaction.
 */
import { installationHold } from '../../accounts/installation-hold-read-model.ts';
import type { Context } from '../../context.ts';
import type { BillingWork } from '../billing-work.ts';
import { findPendingInvoice } from '../invoices/invoice-store.ts';
import { syncRemotesOf } from '../remote/sync-remotes.ts';
import { findSubscription, noteVendorUnread } from './subscription-store.ts';
import { nextStepAt, type Subscription } from './subscription.ts';
import { syncContained } from '../payments/sync-payments.ts';
import { hasUnreadAtVendors } from '../payments/unread-at-vendors-read-model.ts';

const MINUTE_MS = 60_000;
/** What was read so lately is not read again. */
export const FRESH_MS = 10 * MINUTE_MS;
/** Counted from the first run that could not read it. Few outages of a vendor last so long; what is found paid later becomes credit. */
const VENDOR_WAIT_MS_MAX = 6 * 60 * MINUTE_MS;

type Key = Pick<Subscription, 'customerId' | 'id'>;

/** Reads what may have been paid for a due subscription. False: it must be read first, which ask-vendors.ts does. */
export async function readBeforeEnd(ctx: Context, key: Key, mayAsk: boolean): Promise<boolean> {
  const subscription = await findSubscription(ctx.db, key);
  if (!subscription || !(await isUnread(ctx, subscription, ctx.clock.now()))) return true;
  // Nothing is read in a restored copy that is on hold; `waitsForVendors` keeps it.
  if (await installationHold(ctx.db)) return true;
  if (!mayAsk) return false;
  const invoice = await findPendingInvoice(ctx.db, subscription);
  if (invoice) await syncContained(ctx, invoice);
  if (hasRemotes(subscription)) await syncRemotesOf(ctx, subscription);
  return true;
}

/** Under the lock: whether it waits because a vendor that may have been paid could not be read. Not for ever, except on hold, which people end. */
export async function waitsForVendors({ ctx, at }: BillingWork, subscription: Subscription): Promise<boolean> {
  const due = nextStepAt(subscription);
  if (due === null || !(await isUnread(ctx, subscription, at))) return false;
  if (await installationHold(ctx.db)) return true;
  const since = await noteVendorUnread(ctx.db, subscription, { due, at });
  return at.getTime() - since.getTime() < VENDOR_WAIT_MS_MAX;
}

async function isUnread({ db }: Pick<Context, 'db'>, subscription: Subscription, at: Date): Promise<boolean> {
  const due = nextStepAt(subscription);
  if (due === null || due > at) return false;
  const { customerId, id } = subscription;
  const since = new Date(Math.max(due.getTime(), at.getTime() - FRESH_MS));
  return hasUnreadAtVendors(db, { customerId, id, since, withRemotes: hasRemotes(subscription) });
}

/** In its days of grace a vendor's subscription may pay it; before them, the sync has time. */
function hasRemotes({ status, graceEndsAt }: Subscription): boolean {
  return status === 'active' && graceEndsAt !== null;
}
