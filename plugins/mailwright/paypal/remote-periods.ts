/**
 * What was paid for the periods of a subscription that PayPal keeps. PayPal tells payments with their times, and not for which period they are: a
 * period is paid by the first payment in it, a further one pays an earlier period that was left unpaid, and so does the rest of a larger one.
 */
import type { PeriodPayment, RemotePeriod } from '../../../src/plugin-api/index.ts';
import { toMinor } from './amounts.ts';
import { listIn, objectIn, textIn, wholeIn, type Json } from './json.ts';

/** The most that the host takes; the latest ones count. */
const PERIODS_MAX = 1_000;
const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;
/** Money came, whether or not it was paid back later. */
const PAID = new Set(['COMPLETED', 'PARTIALLY_REFUNDED', 'REFUNDED']);
/** What a period may be at most, in units of its kind. */
const UNITS = { DAY: [0, 1], WEEK: [0, 7], MONTH: [1, 0], YEAR: [12, 0] } as const;

export interface Payment {
  readonly at: Date;
  readonly amountMinor: bigint;
  readonly currencyCode: string;
  readonly isRefunded: boolean;
}

/** Payments that brought money, the earliest first. */
export function paymentsOf(transactions: readonly Json[]): readonly Payment[] {
  return transactions.flatMap(paymentOf).toSorted((one, other) => one.at.getTime() - other.at.getTime());
}

function paymentOf(transaction: Json): Payment[] {
  const status = textIn(transaction, 'status') ?? '';
  const gross = objectIn(transaction, 'amount_with_breakdown', 'gross_amount');
  const currencyCode = textIn(gross, 'currency_code') ?? '';
  const amountMinor = toMinor(textIn(gross, 'value') ?? '', currencyCode);
  const at = new Date(textIn(transaction, 'time') ?? '');
  if (!PAID.has(status) || amountMinor === undefined || amountMinor <= 0n || Number.isNaN(at.getTime())) return [];
  return [{ at, amountMinor, currencyCode, isRefunded: status === 'REFUNDED' }];
}

/**
 * The periods of a subscription (read with its plan), the latest first; empty when PayPal does not say when it is billed next, or how often. One that has
 * ended is billed no more: its last period is that of its last payment.
 */
export function periodsOf(subscription: Json, payments: readonly Payment[]): RemotePeriod[] {
  const cycle = listIn(objectIn(subscription, 'plan'), 'billing_cycles').find(
    (one) => textIn(one, 'tenure_type') === 'REGULAR',
  );
  const step = cycle && stepOf(objectIn(cycle, 'frequency'));
  const startsAt = new Date(textIn(subscription, 'start_time') ?? '');
  const endsAt = step && endOfLast(subscription, { step, startsAt, payments });
  if (!cycle || !step || !endsAt || Number.isNaN(startsAt.getTime())) return [];
  const ends = endsBackFrom(endsAt, { step, startsAt });
  const price = objectIn(cycle, 'pricing_scheme', 'fixed_price');
  const priceMinor = toMinor(textIn(price, 'value') ?? '', textIn(price, 'currency_code') ?? '');
  const paid = allot(payments, { ends, step, priceMinor });
  return ends.map((end, no) => ({ endsAt: end, payment: paid[no] ?? null }));
}

/** How far a period goes: months and days. */
interface Step {
  readonly months: number;
  readonly days: number;
}

function stepOf(frequency: Json): Step | undefined {
  const unit = textIn(frequency, 'interval_unit');
  const count = wholeIn(frequency, 'interval_count') ?? 1;
  if ((unit !== 'DAY' && unit !== 'WEEK' && unit !== 'MONTH' && unit !== 'YEAR') || count < 1) return undefined;
  const [months, days] = UNITS[unit];
  return { months: months * count, days: days * count };
}

/** The same day and time so many steps later or earlier; the last day of a month without such a day. */
function moved(from: Date, { months, days }: Step, count: number): Date {
  if (months === 0) return new Date(from.getTime() + days * count * DAY_MS);
  const month = new Date(from);
  month.setUTCDate(1);
  month.setUTCMonth(month.getUTCMonth() + months * count);
  const lastDay = new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1, 0)).getUTCDate();
  month.setUTCDate(Math.min(from.getUTCDate(), lastDay));
  return month;
}

function endOfLast(
  subscription: Json,
  { step, startsAt, payments }: { readonly step: Step; readonly startsAt: Date; readonly payments: readonly Payment[] },
): Date | undefined {
  const next = new Date(textIn(objectIn(subscription, 'billing_info'), 'next_billing_time') ?? '');
  if (!Number.isNaN(next.getTime())) return next;
  const last = payments.at(-1);
  if (!last || Number.isNaN(startsAt.getTime())) return undefined;
  for (let count = 1; count <= PERIODS_MAX; count += 1) {
    const end = moved(startsAt, step, count);
    if (end > last.at) return end;
  }
  return undefined;
}

/** The latest first, down to that of the first period. */
function endsBackFrom(last: Date, { step, startsAt }: { readonly step: Step; readonly startsAt: Date }): Date[] {
  const ends: Date[] = [];
  for (let count = 0; count < PERIODS_MAX; count += 1) {
    const end = moved(last, step, -count);
    // Half a period is the least that a first one can be.
    if (end.getTime() - (end.getTime() - moved(end, step, -1).getTime()) / 2 < startsAt.getTime() && count > 0) break;
    ends.push(end);
  }
  return ends;
}

/** What was paid for each period, in the order of `ends`. */
function allot(
  payments: readonly Payment[],
  {
    ends,
    step,
    priceMinor,
  }: { readonly ends: readonly Date[]; readonly step: Step; readonly priceMinor: bigint | undefined },
): (PeriodPayment | undefined)[] {
  const paid = ends.map((): PeriodPayment | undefined => undefined);
  // What single periods have cost: the plan of earlier payments may have been a dearer one.
  const prices = new Set<bigint>();
  for (const { at, amountMinor, currencyCode, isRefunded } of lastRefunded(payments)) {
    const own = ends.findIndex((end) => isIn(at, { end, step }));
    if (own === -1) continue;
    // PayPal takes what is outstanding together with the next period, if the plan says so.
    const isMultiple = priceMinor !== undefined && priceMinor > 0n && amountMinor % priceMinor === 0n;
    const parts = isMultiple && !prices.has(amountMinor) ? amountMinor / priceMinor : 1n;
    const open = paid.flatMap((payment, no) => (no >= own && payment === undefined ? [no] : []));
    if (BigInt(open.length) < parts || parts === 1n) {
      prices.add(amountMinor);
      paid[open[0] ?? own] ??= { amountMinor, currencyCode, ...(isRefunded && { refundedMinor: amountMinor }) };
    } else
      for (const no of open.slice(0, Number(parts))) {
        const part = amountMinor / parts;
        paid[no] = { amountMinor: part, currencyCode, ...(isRefunded && { refundedMinor: part }) };
      }
  }
  return paid;
}

/** Money that went back takes no period from money that stayed. */
function lastRefunded(payments: readonly Payment[]): readonly Payment[] {
  return payments.toSorted((one, other) => Number(one.isRefunded) - Number(other.isRefunded));
}

/** PayPal takes the money when the period begins, or somewhat earlier on that day, or when a later try succeeds. */
function isIn(at: Date, { end, step }: { readonly end: Date; readonly step: Step }): boolean {
  const begin = moved(end, step, -1);
  const slackMs = Math.min((end.getTime() - begin.getTime()) / 10, 12 * HOUR_MS);
  return at.getTime() + slackMs >= begin.getTime() && at.getTime() + slackMs < end.getTime();
}
