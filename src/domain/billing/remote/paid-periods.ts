/** Which periods of a vendor's subscription are paid and were not counted here. Pure. */
import type { RemotePeriod } from '../../../plugin-api/index.ts';
import { periodEnd, type Frequency } from '../subscriptions/period.ts';
import type { ReadRemote } from './remote-answers.ts';
import type { Remote } from './remote-subscription-store.ts';

/** More than a year of days. The next sync continues. */
const PERIODS_MAX = 500;

/** Whether the present period is paid, as far as the vendor says. */
export function isPeriodPaid({ isActive, periodPayment }: ReadRemote): boolean {
  return periodPayment === undefined ? isActive : periodPayment !== null;
}

/**
 * The ends of the paid periods since the last one that was counted, in order; the last is the vendor's own. While we were down there may have been
 * several. `begunAt` is when the first one began, for a subscription that is seen for the first time.
 */
export function newlyPaid(
  { paidUntil }: Pick<Remote, 'paidUntil'>,
  { currentPeriodEndsAt: end }: Pick<ReadRemote, 'currentPeriodEndsAt'>,
  { begunAt, frequency }: { readonly begunAt: Date; readonly frequency: Frequency },
): Date[] {
  if (end === null || (paidUntil !== null && end <= paidUntil)) return [];
  const from = paidUntil ?? begunAt;
  const ends: Date[] = [];
  // Days may be given or taken by the vendor: what is nearer to the vendor's end than to the next one is the same period.
  for (let count = 1; count < PERIODS_MAX; count += 1) {
    const [one, next] = [periodEnd(from, frequency, count), periodEnd(from, frequency, count + 1)];
    if (one.getTime() + (next.getTime() - one.getTime()) / 2 >= end.getTime()) break;
    ends.push(one);
  }
  return [...ends, end];
}

/** The one of these that ends there; undefined: the vendor does not know it. */
export function periodAt(periods: readonly RemotePeriod[], end: Date, frequency: Frequency): RemotePeriod | undefined {
  const same = periods.filter(({ endsAt }) => reaches(endsAt, end, frequency) && reaches(end, endsAt, frequency));
  // A period may have an invoice that nobody paid, and another one that was.
  return same.find(({ payment }) => payment !== null) ?? same[0];
}

/** Whether a period that ends at `until` is the one that ends at `end`, or a later one: days may be given or taken by the vendor. */
export function reaches(until: Date, end: Date, frequency: Frequency): boolean {
  const next = periodEnd(until, frequency, 1);
  return until.getTime() + (next.getTime() - until.getTime()) / 2 >= end.getTime();
}
