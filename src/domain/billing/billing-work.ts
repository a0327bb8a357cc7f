/**
 * One piece of work on a customer's money and plans: a transaction that locks the customer, so that two of them run one after the
 * other and rows can be read and written without further locks.
 */
import { recordEvents } from '../../events/event-store.ts';
import { isUid } from '../../lib/ids.ts';
import { findCustomer, lockCustomer } from '../accounts/customer-store.ts';
import { inTransaction, viewerOf, type Context, type TransactionContext } from '../context.ts';
import { customerNotFound, foreignCustomer, foreignSubscription, subscriptionNotFound } from './billing-errors.ts';
import { administers } from './billing-rights.ts';
import type { Money } from './money.ts';
import { planById } from './plans/plan-store.ts';
import { findSubscription, findSubscriptionByUid, insertHistory } from './subscriptions/subscription-store.ts';
import type { Subscription } from './subscriptions/subscription.ts';

export interface BillingWork {
  readonly ctx: TransactionContext;
  readonly customer: NonNullable<Awaited<ReturnType<typeof lockCustomer>>>;
  /** The time of the work, the same for all its rows. */
  readonly at: Date;
}

/** Runs `act` while no other work changes this customer's plans or money. Throws NotFoundError `CUSTOMER_NOT_FOUND`. */
export function workOnCustomer<T>(
  ctx: Context,
  customerId: bigint,
  act: (work: BillingWork) => Promise<T>,
): Promise<T> {
  return inTransaction(ctx, async (tx) => {
    const customer = await lockCustomer(tx.db, customerId);
    if (!customer) throw customerNotFound();
    return act({ ctx: tx, customer, at: ctx.clock.now() });
  });
}

/**
 * The same for a subscription by its uid, read under the lock. Throws NotFoundError `SUBSCRIPTION_NOT_FOUND`,
 * ForeignResourceError for another customer's unless the caller administers.
 */
export async function workOnSubscription<T>(
  ctx: Context,
  uid: string,
  act: (work: BillingWork, subscription: Subscription) => Promise<T>,
): Promise<T> {
  const found = await visibleSubscription(ctx, uid);
  return workOnCustomer(ctx, found.customerId, async (work) => {
    const subscription = await findSubscription(work.ctx.db, found);
    if (!subscription) throw subscriptionNotFound();
    return act(work, subscription);
  });
}

/** A subscription that the caller may see. Throws NotFoundError `SUBSCRIPTION_NOT_FOUND`, ForeignResourceError. */
export async function visibleSubscription(ctx: Context, uid: string): Promise<Subscription> {
  const found = isUid(uid) ? await findSubscriptionByUid(ctx.db, uid) : undefined;
  if (!found) throw subscriptionNotFound();
  if (found.customerId !== viewerOf(ctx).customerId && !administers(ctx)) throw foreignSubscription();
  return found;
}

/** The customer of the work: the caller's own, or for an administrator any. Throws NotFoundError, ForeignResourceError. */
export async function customerFor(ctx: Context, uid: string | null | undefined): Promise<bigint> {
  const own = viewerOf(ctx).customerId;
  if (uid === null || uid === undefined) return own;
  const id = isUid(uid) ? (await findCustomer(ctx.db, { uid }))?.id : undefined;
  if (id === undefined) throw customerNotFound();
  if (id !== own && !administers(ctx)) throw foreignCustomer();
  return id;
}

export interface HistoryEntry {
  readonly event: HistoryEvent;
  readonly amount?: Money | null;
  readonly invoiceUid?: string | null;
  readonly note?: string | null;
}

/** Events of a subscription. Clients read these words: never rename one. */
export type HistoryEvent =
  | 'created'
  | 'started'
  | 'renewal_due'
  | 'renewed'
  | 'change_requested'
  | 'change_withdrawn'
  | 'plan_changed'
  | 'payment_claimed'
  | 'payment_rejected'
  | 'payment_failed'
  | 'payment_credited'
  | 'payment_refunded'
  | 'updated'
  | 'cancelled'
  | 'resumed'
  | 'terminated'
  | 'ended';

/** What is an event for others as well. Ends and changes of plan have events with more data: their verbs record them. */
const EVENT_KINDS = new Map<
  HistoryEvent,
  `subscription_${'created' | 'started' | 'renewed' | 'cancelled' | 'resumed'}`
>([
  ['created', 'subscription_created'],
  ['started', 'subscription_started'],
  ['renewed', 'subscription_renewed'],
  ['cancelled', 'subscription_cancelled'],
  ['resumed', 'subscription_resumed'],
]);

/** Writes a row of the subscription's renewal history (decision D34), and the event. */
export async function recordEvent(work: BillingWork, subscription: Subscription, entry: HistoryEntry): Promise<void> {
  const plan = await planById(work.ctx.db, subscription.planId);
  await insertHistory(work.ctx.db, {
    customerId: subscription.customerId,
    subscriptionId: subscription.id,
    event: entry.event,
    at: work.at,
    planUid: plan.uid,
    amountMinor: entry.amount?.minor ?? null,
    currencyCode: entry.amount?.currencyCode ?? null,
    invoiceUid: entry.invoiceUid ?? null,
    note: entry.note ?? null,
  });
  const kind = EVENT_KINDS.get(entry.event);
  if (!kind) return;
  const { customerId, uid: objectUid } = subscription;
  const data = { customerUid: work.customer.uid, planUid: plan.uid };
  await recordEvents(work.ctx.db, [{ kind, customerId, objectUid, data }]);
}
