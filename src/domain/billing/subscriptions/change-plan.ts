/**
 * Moves a customer to another plan (decision D35): the unused part of the paid period is subtracted from the price of the new
 * one. The plan changes when the invoice is paid, at once when nothing is due.
 */
import type { Context } from '../../context.ts';
import { billRenewal } from './bill-renewal.ts';
import { onlyAdministratorsKeep, planUnchanged, tooManyChanges } from '../billing-errors.ts';
import { administers } from '../billing-rights.ts';
import { customerFor, recordEvent, workOnCustomer, type BillingWork } from '../billing-work.ts';
import {
  dropPending,
  planForNew,
  presentSubscription,
  subscribe,
  type Keeping,
  type PlanChange,
} from './create-subscription.ts';
import { countInvoicesSince, findPendingInvoice, type Invoice } from '../invoices/invoice-store.ts';
import type { Money } from '../money.ts';
import type { Plan } from '../plans/plan.ts';
import { planById } from '../plans/plan-store.ts';
import { unusedPart } from './proration.ts';
import { requestRemotePlan } from '../remote/change-remote-plan.ts';
import { settleInvoice } from '../invoices/settle-invoice.ts';
import { findPending, findRunning, findSubscription } from './subscription-store.ts';
import { paidOf, type Subscription } from './subscription.ts';
import { totalOf, voidInvoice, writeInvoice } from '../invoices/write-invoice.ts';

/** Each change makes rows that are kept; nobody changes more often. */
const CHANGES_PER_DAY_MAX = 50;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Moves the caller's own customer, or for an administrator the named one. A customer without a plan gets one; a repeated request
 * returns the same invoice; a request for the present plan cancels an unpaid change. Throws WrongStateError `PLAN_UNCHANGED`,
 * `PAYMENT_AWAITS_APPROVAL`, what `requestRemotePlan` throws; ValidationError `PLAN_NOT_ACTIVE`, or on `keepOverrides` unless the caller administers; NotFoundError,
 * ForeignResourceError; RateLimitedError.
 */
export async function changePlan(
  ctx: Context,
  { customerUid, planUid, ...keeping }: { customerUid?: string | null | undefined; planUid: string } & Keeping,
): Promise<PlanChange> {
  const customerId = await customerFor(ctx, customerUid);
  const isLimited = !administers(ctx);
  const keepOverrides = keeping.keepOverrides ?? false;
  // An operator set them for one plan: a customer must not carry them to a cheaper one.
  if (keepOverrides && isLimited) throw onlyAdministratorsKeep();
  return workOnCustomer(ctx, customerId, async (work) => {
    const plan = await planForNew(work.ctx, planUid);
    const waiting = await alreadyWaiting(work, { plan, keepOverrides });
    if (waiting) return waiting;
    if (isLimited) await refuseManyChanges(work);
    const before = await presentSubscription(work);
    await dropPending(work);
    const running = await findRunning(work.ctx.db, customerId);
    if (!running) return subscribe(work, plan, { before, keepOverrides });
    const asked = await requestRemotePlan(work, running, plan);
    if (asked) return asked;
    if (running.planId === plan.id) return withdraw(work, running);
    return move(work, running, { plan, keepOverrides });
  });
}

interface Move {
  readonly plan: Plan;
  readonly keepOverrides: boolean;
}

/** The same change, requested before and not paid yet. */
async function alreadyWaiting(
  { ctx, customer }: BillingWork,
  { plan, keepOverrides }: Move,
): Promise<PlanChange | undefined> {
  for (const subscription of [await findPending(ctx.db, customer.id), await findRunning(ctx.db, customer.id)]) {
    const due = subscription && (await findPendingInvoice(ctx.db, subscription));
    if (!subscription || !due || due.kind === 'renewal') continue;
    if (due.kind === 'change' && due.keepsOverrides !== keepOverrides) continue;
    if (due.planId === plan.id && due.priceMinor === plan.priceMinor) return { subscription, due };
  }
  return undefined;
}

async function withdraw(work: BillingWork, running: Subscription): Promise<PlanChange> {
  const invoice = await findPendingInvoice(work.ctx.db, running);
  if (invoice?.kind !== 'change') throw planUnchanged();
  await voidInvoice(work, invoice);
  await recordEvent(work, running, { event: 'change_withdrawn', invoiceUid: invoice.uid });
  if (!running.graceEndsAt) return { subscription: running, due: null };
  // Its period is over: the requested change had replaced the renewal, which is due again.
  const plan = await planById(work.ctx.db, running.planId);
  const renewal = await billRenewal(work, running, { plan, dueAt: running.graceEndsAt });
  return renewal.totalMinor > 0n ? { subscription: running, due: renewal } : settle(work, running, renewal);
}

async function settle(work: BillingWork, running: Subscription, invoice: Invoice): Promise<PlanChange> {
  await settleInvoice(work, invoice);
  return { subscription: (await findSubscription(work.ctx.db, running)) ?? running, due: null };
}

async function move(work: BillingWork, running: Subscription, { plan, keepOverrides }: Move): Promise<PlanChange> {
  const { db } = work.ctx;
  const open = await findPendingInvoice(db, running);
  if (open) await voidInvoice(work, open);
  // A period that is over and not paid for: the new plan's period begins where the next one would have begun.
  const isOverdue = running.graceEndsAt !== null && running.currentPeriodEndsAt !== null;
  const periodStartsAt = (isOverdue ? running.currentPeriodEndsAt : null) ?? work.at;
  const invoice = await writeInvoice(work, running, {
    kind: 'change',
    plan,
    unused: unusedOf(running, periodStartsAt),
    periodStartsAt,
    dueAt: running.graceEndsAt ?? running.currentPeriodEndsAt,
    keepsOverrides: keepOverrides,
  });
  if (invoice.totalMinor > 0n) {
    const note = `To ${plan.name}, when the invoice is paid.`;
    await recordEvent(work, running, {
      event: 'change_requested',
      amount: totalOf(invoice),
      invoiceUid: invoice.uid,
      note,
    });
    return { subscription: running, due: invoice };
  }
  return settle(work, running, invoice);
}

function unusedOf(subscription: Subscription, at: Date): Money | null {
  const paid = paidOf(subscription);
  const { currentPeriodStartedAt: startsAt, currentPeriodEndsAt: endsAt } = subscription;
  if (!paid || !startsAt || !endsAt) return null;
  return { ...paid, minor: unusedPart({ paid, startsAt, endsAt }, at) };
}

async function refuseManyChanges({ ctx, customer, at }: BillingWork): Promise<void> {
  const since = new Date(at.getTime() - DAY_MS);
  const { count, firstAt } = await countInvoicesSince(ctx.db, { customerId: customer.id, since });
  if (count < CHANGES_PER_DAY_MAX) return;
  const freeAt = (firstAt ?? at).getTime() + DAY_MS;
  throw tooManyChanges(Math.max(1, Math.ceil((freeAt - at.getTime()) / 1000)));
}
