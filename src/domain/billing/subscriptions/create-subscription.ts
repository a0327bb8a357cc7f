/** Gives a customer a subscription: at once when nothing is to be paid, else with an invoice (decision D36). */
import { newUid } from '../../../lib/ids.ts';
import { assert } from '../../../lib/errors.ts';
import { InputFaults } from '../../../lib/input-faults.ts';
import type { Context } from '../../context.ts';
import { planNotActive, planNotFound } from '../billing-errors.ts';
import { requireAdministrator } from '../billing-rights.ts';
import { customerFor, recordEvent, workOnCustomer, type BillingWork } from '../billing-work.ts';
import { endSubscription } from './end-subscription.ts';
import type { Invoice } from '../invoices/invoice-store.ts';
import { findPlan } from '../plans/plan-store.ts';
import type { Plan } from '../plans/plan.ts';
import { settleInvoice } from '../invoices/settle-invoice.ts';
import { startSubscription } from './start-subscription.ts';
import {
  findPending,
  findRunning,
  findSubscription,
  insertSubscription,
  saveSubscription,
} from './subscription-store.ts';
import { NO_OVERRIDES, overridesNote, overridesOf, PENDING_DAYS_MAX, type Subscription } from './subscription.ts';
import { totalOf, voidPendingInvoice, writeInvoice } from '../invoices/write-invoice.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** The result of a requested plan: the subscription as it is now, and the invoice that has to be paid first, if there is one. */
export interface PlanChange {
  readonly subscription: Subscription;
  readonly due: Invoice | null;
}

/** Whether the own end and options of the subscription before are kept. By default they end with it. */
export interface Keeping {
  readonly keepOverrides?: boolean | null | undefined;
}

/**
 * Makes a subscription for a customer. With a price it is `pending` until its invoice is paid, and the previous one continues;
 * without a price, or with `disableBilling`, it runs at once. Throws ValidationError `PLAN_NOT_ACTIVE`, NotFoundError,
 * WrongStateError `PAYMENT_AWAITS_APPROVAL`.
 */
export async function createSubscription(
  ctx: Context,
  { customerUid, planUid, disableBilling }: { customerUid: string; planUid: string; disableBilling: boolean },
): Promise<PlanChange> {
  requireAdministrator(ctx);
  const faults = new InputFaults();
  const customerId = await faults.gather(() => customerFor(ctx, customerUid), 'customerUid');
  // Only the transaction locks it.
  await faults.gather(() => planForNew(ctx, planUid), 'planUid');
  faults.check({ areMore: ctx.checksOnly });
  assert(customerId !== undefined, 'a customer without faults was not found');
  return workOnCustomer(ctx, customerId, async (work) => {
    const plan = await planForNew(work.ctx, planUid);
    await dropPending(work);
    return subscribe(work, plan, { disableBilling });
  });
}

/**
 * Gives a customer a plan without billing (decision D35): the present subscription ends, the new one runs at once. With
 * `keepOverrides` the own end and options of the present one are set on the new one. Throws ValidationError `PLAN_NOT_ACTIVE`,
 * NotFoundError.
 */
export async function assignPlan(
  ctx: Context,
  { customerUid, planUid, keepOverrides }: { customerUid: string; planUid: string } & Keeping,
): Promise<Subscription> {
  requireAdministrator(ctx);
  const customerId = await customerFor(ctx, customerUid);
  return workOnCustomer(ctx, customerId, async (work) => {
    const plan = await planForNew(work.ctx, planUid);
    const before = await presentSubscription(work);
    await dropPending(work, { evenIfClaimed: true });
    const note = 'Assigned without billing.';
    const { subscription } = await subscribe(work, plan, { disableBilling: true, note, before, keepOverrides });
    return subscription;
  });
}

/** A plan for a new subscription, locked against changes. */
export async function planForNew({ db }: Context, uid: string): Promise<Plan> {
  const plan = await findPlan(db, uid, 'use');
  if (!plan) throw planNotFound();
  if (plan.status !== 'active') throw planNotActive();
  return plan;
}

/** Ends the subscription that waits for its first payment, if there is one. */
export async function dropPending(work: BillingWork, options: { evenIfClaimed?: boolean } = {}): Promise<void> {
  const pending = await findPending(work.ctx.db, work.customer.id);
  if (!pending) return;
  await voidPendingInvoice(work, pending, options);
  await endSubscription(work, pending, { event: 'ended', note: 'Replaced before it was paid.' });
}

/** The running subscription, else the one that waits for payment. */
export async function presentSubscription({ ctx, customer }: BillingWork): Promise<Subscription | undefined> {
  return (await findRunning(ctx.db, customer.id)) ?? findPending(ctx.db, customer.id);
}

interface Subscribing extends Keeping {
  readonly disableBilling?: boolean;
  readonly note?: string;
  /** The one that it takes the place of. */
  readonly before?: Subscription | undefined;
}

/** A new subscription for a customer without a pending one. */
export async function subscribe(
  work: BillingWork,
  plan: Plan,
  { disableBilling = false, note = '', before, keepOverrides }: Subscribing,
): Promise<PlanChange> {
  const { db } = work.ctx;
  const own = before ? overridesOf(before) : NO_OVERRIDES;
  const historyNote = `${note}${overridesNote(own, keepOverrides ?? false)}`.trim();
  const inserted = await insertSubscription(db, {
    customerId: work.customer.id,
    uid: newUid(),
    planId: plan.id,
    disableBilling,
    createdAt: work.at,
  });
  const fresh = { ...inserted, ...(keepOverrides ? own : {}) };
  if (disableBilling || plan.priceMinor === 0n)
    return {
      subscription: await startSubscription(work, fresh, {
        plan,
        paid: null,
        ...(historyNote !== '' && { note: historyNote }),
      }),
      due: null,
    };
  const waiting = await saveSubscription(db, fresh, work.at);
  const dueAt = new Date(work.at.getTime() + PENDING_DAYS_MAX * DAY_MS);
  const invoice = await writeInvoice(work, waiting, { kind: 'start', plan, unused: null, periodStartsAt: null, dueAt });
  const created = {
    event: 'created',
    amount: totalOf(invoice),
    invoiceUid: invoice.uid,
    note: historyNote || null,
  } as const;
  await recordEvent(work, waiting, created);
  if (invoice.totalMinor > 0n) return { subscription: waiting, due: invoice };
  await settleInvoice(work, invoice);
  return { subscription: (await findSubscription(db, waiting)) ?? waiting, due: null };
}
