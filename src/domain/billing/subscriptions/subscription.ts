/**
 * The noun: a subscription, a customer's use of a plan, with its states (decision D34) and its periods. Pure: every function here
 * takes a subscription and returns the next one; verbs write them and the history.
 */
import { row, type RowOf, typed } from '../../../db/database.ts';
import type { Money } from '../money.ts';
import { periodEnd, storedUnit, type Frequency } from './period.ts';
import { frequencyOfPlan, type Plan } from '../plans/plan.ts';

export const subscriptionStatuses = ['pending', 'active', 'cancelled', 'ended'] as const;
export type SubscriptionStatus = (typeof subscriptionStatuses)[number];

const DAY_MS = 24 * 60 * 60 * 1000;
/** An unpaid first invoice ends its subscription after this time. */
export const PENDING_DAYS_MAX = 30;
/** An end or a period further ahead is a client's mistake. */
export const YEARS_AHEAD_MAX = 50;

export const SUBSCRIPTION_ROW = row({
  customerId: 'bigint',
  id: 'bigint',
  uid: 'text',
  planId: 'bigint',
  status: typed<SubscriptionStatus>('text'),
  options: typed<Readonly<Record<string, unknown>>>('json'),
  disableBilling: 'bool',
  frequencyAmount: 'int?',
  frequencyUnit: 'text?',
  anchorAt: 'timestamptz?',
  anchorAmount: 'int?',
  anchorUnit: 'text?',
  periodNo: 'int',
  currentPeriodStartedAt: 'timestamptz?',
  currentPeriodEndsAt: 'timestamptz?',
  paidMinor: 'bigint',
  paidCurrencyCode: 'text?',
  graceEndsAt: 'timestamptz?',
  endsAt: 'timestamptz?',
  createdAt: 'timestamptz',
});
export type Subscription = RowOf<typeof SUBSCRIPTION_ROW>;

export function isRunning({ status }: Subscription): boolean {
  return status === 'active' || status === 'cancelled';
}

/** The length of its periods: its own, or the plan's. */
export function frequencyOf(subscription: Subscription, plan: Plan): Frequency {
  const { frequencyAmount, frequencyUnit } = subscription;
  if (frequencyAmount === null || frequencyUnit === null) return frequencyOfPlan(plan);
  return { amount: frequencyAmount, unit: storedUnit(frequencyUnit) };
}

/** Running from `at` on, in its first period. */
export function started(subscription: Subscription, plan: Plan, { at, paid }: { at: Date; paid: Money | null }) {
  return {
    ...anchored(subscription, frequencyOf(subscription, plan), at),
    status: 'active',
    ...payment(paid),
  } as const;
}

/** In the period after the present one; a change of length starts a new count from here. */
export function renewed(subscription: Subscription, plan: Plan, paid: Money | null): Subscription {
  const { anchorAt, anchorAmount, anchorUnit, periodNo, currentPeriodEndsAt } = subscription;
  if (!anchorAt || anchorAmount === null || anchorUnit === null || !currentPeriodEndsAt)
    throw new Error(`Subscription ${subscription.id} has no period to renew.`);
  const frequency = frequencyOf(subscription, plan);
  const next = { ...subscription, graceEndsAt: null, ...payment(paid) };
  if (frequency.amount !== anchorAmount || frequency.unit !== anchorUnit)
    return anchored(next, frequency, currentPeriodEndsAt);
  return {
    ...next,
    periodNo: periodNo + 1,
    currentPeriodStartedAt: currentPeriodEndsAt,
    currentPeriodEndsAt: periodEnd(anchorAt, frequency, periodNo + 1),
  };
}

/** The same period with another end; the next ones are counted from there. */
export function withPeriodEnd(subscription: Subscription, plan: Plan, endsAt: Date): Subscription {
  const { amount, unit } = frequencyOf(subscription, plan);
  return {
    ...subscription,
    anchorAt: endsAt,
    anchorAmount: amount,
    anchorUnit: unit,
    periodNo: 0,
    currentPeriodEndsAt: endsAt,
    graceEndsAt: null,
  };
}

/** What an administrator has set on a subscription beside its plan, and what a change of plan may keep. */
export interface Overrides {
  readonly options: Subscription['options'];
  readonly endsAt: Date | null;
}

export const NO_OVERRIDES: Overrides = { options: {}, endsAt: null };

/** Of this subscription; a cancellation is none, it ends with its plan. */
export function overridesOf(subscription: Subscription): Overrides {
  const { options, endsAt } = subscription.status === 'cancelled' ? resumed(subscription) : subscription;
  return { options, endsAt };
}

/** For the renewal history: `Kept: ends_at 2027-01-01, options list_max.` Empty where there were none. */
export function overridesNote({ options, endsAt }: Overrides, isKept: boolean): string {
  const names = Object.keys(options);
  const parts = [
    ...(endsAt ? [`ends_at ${endsAt.toISOString().slice(0, 10)}`] : []),
    ...(names.length > 0 ? [`options ${names.join(', ')}`] : []),
  ];
  return parts.length === 0 ? '' : ` ${isKept ? 'Kept' : 'Dropped'}: ${parts.join(', ')}.`;
}

/**
 * On another plan, in a new period from `startsAt` on. Its own end and options belonged to the old plan and are dropped, unless
 * they are given.
 */
export function onPlan(
  subscription: Subscription,
  plan: Plan,
  { startsAt, paid, overrides = NO_OVERRIDES }: { startsAt: Date; paid: Money | null; overrides?: Overrides },
): Subscription {
  const bare: Subscription = {
    ...subscription,
    planId: plan.id,
    ...overrides,
    disableBilling: false,
    frequencyAmount: null,
    frequencyUnit: null,
    graceEndsAt: null,
  };
  return started(bare, plan, { at: startsAt, paid });
}

/** Runs to the end of its period. */
export function cancelled(subscription: Subscription): Subscription {
  return {
    ...subscription,
    status: 'cancelled',
    endsAt: earliest(subscription.endsAt, subscription.currentPeriodEndsAt),
  };
}

/** Continues. */
export function resumed(subscription: Subscription): Subscription {
  const { endsAt, currentPeriodEndsAt } = subscription;
  const wasItsEnd = endsAt?.getTime() === currentPeriodEndsAt?.getTime();
  return { ...subscription, status: 'active', endsAt: wasItsEnd ? null : endsAt };
}

export function ended(subscription: Subscription, at: Date): Subscription {
  return { ...subscription, status: 'ended', graceEndsAt: null, endsAt: earliest(subscription.endsAt, at) };
}

/** When it is due next. */
export function nextStepAt(subscription: Subscription): Date | null {
  switch (subscription.status) {
    case 'ended':
      return null;
    case 'pending':
      return earliest(new Date(subscription.createdAt.getTime() + PENDING_DAYS_MAX * DAY_MS), subscription.endsAt);
    default:
      return earliest(subscription.endsAt, subscription.graceEndsAt ?? subscription.currentPeriodEndsAt);
  }
}

/** The price paid for the current period; null when it is free. */
export function paidOf({ paidMinor, paidCurrencyCode }: Subscription): Money | null {
  return paidCurrencyCode === null ? null : { minor: paidMinor, currencyCode: paidCurrencyCode };
}

function anchored(subscription: Subscription, frequency: Frequency, at: Date): Subscription {
  return {
    ...subscription,
    anchorAt: at,
    anchorAmount: frequency.amount,
    anchorUnit: frequency.unit,
    periodNo: 1,
    currentPeriodStartedAt: at,
    currentPeriodEndsAt: periodEnd(at, frequency, 1),
  };
}

function payment(paid: Money | null): Pick<Subscription, 'paidMinor' | 'paidCurrencyCode'> {
  return { paidMinor: paid?.minor ?? 0n, paidCurrencyCode: paid?.currencyCode ?? null };
}

function earliest(a: Date | null, b: Date | null): Date | null {
  if (!a || !b) return a ?? b;
  return a < b ? a : b;
}
