/** An invoice is paid and takes effect, once. */
import { assert } from '../../../lib/errors.ts';
import { recordEvent, type BillingWork } from '../billing-work.ts';
import { changeCredit } from './credit-store.ts';
import { closeInvoice, type Invoice } from './invoice-store.ts';
import { planById } from '../plans/plan-store.ts';
import { recordPlanChange, startSubscription } from '../subscriptions/start-subscription.ts';
import { findSubscription, saveSubscription } from '../subscriptions/subscription-store.ts';
import {
  NO_OVERRIDES,
  onPlan,
  overridesNote,
  overridesOf,
  renewed,
  type Subscription,
} from '../subscriptions/subscription.ts';
import { totalOf } from './write-invoice.ts';

/**
 * Marks a pending invoice as paid and applies it: the subscription starts, continues for a period, or moves to the other plan. An
 * invoice that is not pending is not changed; the result says which it was.
 */
export async function settleInvoice(work: BillingWork, invoice: Invoice): Promise<boolean> {
  const { db } = work.ctx;
  if (!(await closeInvoice(db, invoice, { status: 'paid', at: work.at }))) return false;
  const { customerId, subscriptionId: id } = invoice;
  const subscription = await findSubscription(db, { customerId, id });
  assert(subscription && subscription.status !== 'ended', 'a pending invoice has a subscription that has not ended');
  if (invoice.creditKeptCode !== null) {
    const money = { minor: invoice.creditKeptMinor, currencyCode: invoice.creditKeptCode };
    await changeCredit(db, { customerId, money, invoiceUid: invoice.uid, at: work.at });
  }
  switch (invoice.kind) {
    case 'start':
      await start(work, subscription, invoice);
      break;
    case 'renewal':
      await renew(work, subscription, invoice);
      break;
    case 'change':
      await change(work, subscription, invoice);
      break;
  }
  return true;
}

async function start(work: BillingWork, subscription: Subscription, invoice: Invoice): Promise<void> {
  const plan = await planById(work.ctx.db, invoice.planId);
  const begun = { ...subscription, ...withoutPastEnd(overridesOf(subscription), work.at) };
  await startSubscription(work, begun, { plan, paid: priceOf(invoice), invoiceUid: invoice.uid });
}

/** An end that has passed while the invoice waited is not kept: what was paid would end at once. */
function withoutPastEnd<Own extends { readonly endsAt: Date | null }>(own: Own, at: Date): Own {
  return own.endsAt !== null && own.endsAt <= at ? { ...own, endsAt: null } : own;
}

async function renew(work: BillingWork, subscription: Subscription, invoice: Invoice): Promise<void> {
  const plan = await planById(work.ctx.db, invoice.planId);
  const next = await saveSubscription(work.ctx.db, renewed(subscription, plan, priceOf(invoice)), work.at);
  await recordEvent(work, next, { event: 'renewed', amount: totalOf(invoice), invoiceUid: invoice.uid });
}

async function change(work: BillingWork, subscription: Subscription, invoice: Invoice): Promise<void> {
  const { db } = work.ctx;
  const [from, to] = [await planById(db, subscription.planId), await planById(db, invoice.planId)];
  const startsAt = invoice.periodStartsAt ?? work.at;
  const own = withoutPastEnd(overridesOf(subscription), work.at);
  const overrides = invoice.keepsOverrides ? own : NO_OVERRIDES;
  const moved = onPlan(subscription, to, { startsAt, paid: priceOf(invoice), overrides });
  const next = await saveSubscription(db, moved, work.at);
  const note = `From ${from.name} to ${to.name}.${overridesNote(own, invoice.keepsOverrides)}`;
  await recordEvent(work, next, { event: 'plan_changed', amount: totalOf(invoice), invoiceUid: invoice.uid, note });
  await recordPlanChange(work, next, { from, to });
}

/** The price of the period, paid with money or with credit: a part of it is refunded when the period ends early. */
function priceOf({ priceMinor, currencyCode }: Invoice) {
  return { minor: priceMinor, currencyCode };
}
