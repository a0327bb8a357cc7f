/** The renewal of a subscription that a vendor keeps: the vendor takes the money, and the sync finds out. Nothing is charged here. */
import type { BillingWork } from '../billing-work.ts';
import { saveSubscription } from '../subscriptions/subscription-store.ts';
import type { Subscription } from '../subscriptions/subscription.ts';
import { noteRemote, type Remote } from './remote-subscription-store.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;
/** Vendors take the money some hours after a period has begun, however short the days of grace are. */
const DAYS_MIN = 1;

/** The period is over: it may be paid at the vendor during the days of grace. */
export async function leaveToVendor(work: BillingWork, subscription: Subscription, remote: Remote): Promise<boolean> {
  const { ctx, at } = work;
  const days = Math.max(DAYS_MIN, ctx.installation.limits.billingGraceDays);
  const graceEndsAt = new Date(at.getTime() + days * DAY_MS);
  await saveSubscription(ctx.db, { ...subscription, graceEndsAt }, at);
  await noteRemote(ctx.db, remote, { error: remote.error, nextSyncAt: at });
  return true;
}
