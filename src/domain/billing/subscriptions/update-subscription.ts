/** What an administrator sets on one subscription: its end, its period, its own options (decision D36). */
import { z } from 'zod';
import { ValidationError } from '../../../lib/errors.ts';
import { InputFaults } from '../../../lib/input-faults.ts';
import type { Context } from '../../context.ts';
import { noSubscription, wrongSubscriptionState } from '../billing-errors.ts';
import { requireAdministrator } from '../billing-rights.ts';
import { customerFor, recordEvent, workOnCustomer, workOnSubscription, type BillingWork } from '../billing-work.ts';
import { frequencyAmount, frequencyUnits, type Frequency } from './period.ts';
import { parsePlanOptions, parsePlanOptionsPatch } from '../plans/plan-options.ts';
import { planById } from '../plans/plan-store.ts';
import { checkFrequency, type Plan } from '../plans/plan.ts';
import { periodIsTheVendors } from '../remote/remote-errors.ts';
import { remoteInForce } from '../remote/remote-in-force-read-model.ts';
import { findPending, findRunning, saveSubscription } from './subscription-store.ts';
import { cancelled, frequencyOf, withPeriodEnd, YEARS_AHEAD_MAX, type Subscription } from './subscription.ts';
import { voidPendingInvoice } from '../invoices/write-invoice.ts';

/** Input from an entry point; undefined changes nothing, null clears. */
export interface SubscriptionChanges {
  readonly endsAt?: Date | null | undefined;
  readonly currentPeriodEndsAt?: Date | null | undefined;
  readonly frequencyAmount?: number | null | undefined;
  readonly frequencyUnit?: string | null | undefined;
  readonly options?: Readonly<Record<string, unknown>> | null | undefined;
}

export const frequencyInput = z.object({
  frequencyAmount: frequencyAmount.nullish(),
  frequencyUnit: z.enum(frequencyUnits).nullish(),
});

/** Changes one subscription. Throws ValidationError; WrongStateError `SUBSCRIPTION_STATE`, `REMOTE_PERIOD_KEPT`; NotFoundError. */
export async function updateSubscription(
  ctx: Context,
  { uid, ...changes }: SubscriptionChanges & { uid: string },
): Promise<Subscription> {
  requireAdministrator(ctx);
  return workOnSubscription(ctx, uid, (work, subscription) => apply(work, subscription, changes));
}

/** Changes the customer's present subscription. Throws the same, and WrongStateError `NO_SUBSCRIPTION`. */
export async function updateCustomerSubscription(
  ctx: Context,
  { customerUid, ...changes }: SubscriptionChanges & { customerUid: string },
): Promise<Subscription> {
  requireAdministrator(ctx);
  const customerId = await customerFor(ctx, customerUid);
  return workOnCustomer(ctx, customerId, async (work) => {
    const { db } = work.ctx;
    const subscription = (await findRunning(db, customerId)) ?? (await findPending(db, customerId));
    if (!subscription) throw noSubscription();
    return apply(work, subscription, changes);
  });
}

async function apply(
  work: BillingWork,
  subscription: Subscription,
  changes: SubscriptionChanges,
): Promise<Subscription> {
  const plan = await planById(work.ctx.db, subscription.planId);
  const wanted = read(work, { subscription, plan, changes });
  await requireOwnPeriod(work, subscription, changes);
  let next: Subscription = { ...subscription, ...wanted };
  const { currentPeriodEndsAt } = changes;
  if (currentPeriodEndsAt) {
    // A waiting renewal is no longer due.
    if (subscription.graceEndsAt) await voidPendingInvoice(work, subscription);
    next = withPeriodEnd(next, plan, currentPeriodEndsAt);
  }
  const saved = await saveSubscription(work.ctx.db, withinCancellation(subscription, next, changes), work.at);
  const names = Object.entries(changes).filter(([, value]) => value !== undefined && value !== null);
  const cleared = Object.entries(changes).filter(([, value]) => value === null);
  const note = [...names.map(([name]) => name), ...cleared.map(([name]) => `${name} cleared`)].join(', ');
  if (note !== '') await recordEvent(work, saved, { event: 'updated', note });
  return saved;
}

/** The next period that a vendor takes the money for would undo it. Its end may be set: it cancels the vendor's subscription when it comes. */
async function requireOwnPeriod(
  { ctx }: BillingWork,
  subscription: Subscription,
  { currentPeriodEndsAt, frequencyAmount: amount, frequencyUnit: unit }: SubscriptionChanges,
): Promise<void> {
  const isMoved = [currentPeriodEndsAt, amount, unit].some((value) => value !== undefined && value !== null);
  if (isMoved && subscription.status === 'active' && (await remoteInForce(ctx.db, subscription)))
    throw periodIsTheVendors();
}

/** All given values, checked together. */
function read(
  work: BillingWork,
  { subscription, plan, changes }: { subscription: Subscription; plan: Plan; changes: SubscriptionChanges },
): Partial<Subscription> {
  const faults = new InputFaults();
  faults.catch(() => {
    if (subscription.status === 'ended') throw wrongSubscriptionState('ended', 'changed');
  });
  for (const name of ['endsAt', 'currentPeriodEndsAt'] as const) checkTime(faults, { name, at: changes[name], work });
  if (changes.currentPeriodEndsAt && subscription.status === 'pending')
    faults.add({ currentPeriodEndsAt: ['A subscription that waits for its first payment has no period yet.'] });
  const frequency = readFrequency(faults, frequencyOf(subscription, plan), changes);
  const options = changes.options ? faults.catch(() => mergedOptions(subscription, changes.options ?? {})) : undefined;
  faults.check();
  return {
    ...(changes.endsAt === undefined ? {} : { endsAt: changes.endsAt }),
    ...frequency,
    ...(changes.options === null ? { options: {} } : {}),
    ...(options ? { options } : {}),
  };
}

function checkTime(
  faults: InputFaults,
  { name, at, work }: { name: 'endsAt' | 'currentPeriodEndsAt'; at: Date | null | undefined; work: BillingWork },
): void {
  if (at === undefined) return;
  const label = name === 'endsAt' ? 'ends at' : 'current period ends at';
  if (at === null) {
    if (name === 'currentPeriodEndsAt') faults.add({ [name]: [`The ${label} cannot be empty.`] });
    return;
  }
  const latest = new Date(work.at);
  latest.setUTCFullYear(latest.getUTCFullYear() + YEARS_AHEAD_MAX);
  if (at <= work.at) faults.add({ [name]: [`The ${label} must be in the future; terminating ends it at once.`] });
  else if (at > latest) faults.add({ [name]: [`The ${label} may not be more than ${YEARS_AHEAD_MAX} years away.`] });
}

function readFrequency(faults: InputFaults, now: Frequency, changes: SubscriptionChanges): Partial<Subscription> {
  const { frequencyAmount, frequencyUnit } = changes;
  if (frequencyAmount === undefined && frequencyUnit === undefined) return {};
  if (frequencyAmount === null || frequencyUnit === null) return { frequencyAmount: null, frequencyUnit: null };
  const given = faults.read(frequencyInput, { frequencyAmount, frequencyUnit });
  const frequency = { amount: given?.frequencyAmount ?? now.amount, unit: given?.frequencyUnit ?? now.unit };
  checkFrequency(faults, frequency);
  return { frequencyAmount: frequency.amount, frequencyUnit: frequency.unit };
}

/** Its own options and the given ones; null resets one to the plan's. */
function mergedOptions(subscription: Subscription, given: Readonly<Record<string, unknown>>) {
  const entries = Object.entries(given);
  const set = parsePlanOptionsPatch(Object.fromEntries(entries.filter(([, value]) => value !== null)));
  const dropped = entries.flatMap(([name, value]) => (value === null ? [name] : []));
  // A removed option must have a known name.
  const unknown = dropped.filter((name) => !Object.hasOwn(parsePlanOptions({}), name));
  if (unknown.length > 0)
    throw new ValidationError(
      Object.fromEntries(unknown.map((name) => [`options.${name}`, ['There is no such plan option.']])),
    );
  const merged = Object.entries({ ...subscription.options, ...set });
  return Object.fromEntries(merged.filter(([name]) => !dropped.includes(name)));
}

/** A cancelled subscription ends with its period at the latest, whatever is set. */
function withinCancellation(before: Subscription, next: Subscription, { endsAt }: SubscriptionChanges): Subscription {
  if (next.status !== 'cancelled') return next;
  const endedWithPeriod = before.endsAt?.getTime() === before.currentPeriodEndsAt?.getTime();
  return endsAt === undefined && !endedWithPeriod ? next : cancelled({ ...next, endsAt: endsAt ?? null });
}
