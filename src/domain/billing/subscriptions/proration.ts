/**
 * What a change of plan costs (decision D35): the new plan's price, less the unused part of the paid period,
 * less the customer's credit. Pure, in whole minor units.
 *
 * Rounding: both ends and the moment of change are cut to whole seconds, and refunds are rounded down to the minor unit. So used
 * and unused parts always add up to what was paid, and repeated changes never create money.
 */
import type { Money } from '../money.ts';

export interface PaidPeriod {
  readonly paid: Money;
  readonly startsAt: Date;
  readonly endsAt: Date;
}

/** The unused part of a paid period at this time. */
export function unusedPart({ paid, startsAt, endsAt }: PaidPeriod, at: Date): bigint {
  const total = seconds(endsAt) - seconds(startsAt);
  if (total <= 0n) return 0n;
  const left = seconds(endsAt) - seconds(at);
  if (left <= 0n) return 0n;
  return left >= total ? paid.minor : (paid.minor * left) / total;
}

export type LineKind = 'plan' | 'unused' | 'credit_used' | 'credit_kept';

export interface Line {
  readonly kind: LineKind;
  readonly amountMinor: bigint;
}

export interface Bill {
  /** They add up to the total. */
  readonly lines: readonly Line[];
  /** Never negative. */
  readonly totalMinor: bigint;
  /** Taken from the customer's balance in the invoice's currency. */
  readonly creditUsedMinor: bigint;
  /** The customer's new credit, in the currency it had paid in. */
  readonly creditKept: Money | null;
}

/** The bill for a period at `price`, with the `unused` part of the period before and a `balance` in the currency of the price. */
export function billFor(price: Money, unused: Money | null, balanceMinor: bigint): Bill {
  // Currencies are not converted: an amount paid in another one becomes the customer's credit in that one.
  const fits = unused !== null && unused.currencyCode === price.currencyCode;
  const given = fits ? unused.minor : 0n;
  const afterUnused = price.minor - given;
  const kept = afterUnused < 0n ? -afterUnused : 0n;
  const due = afterUnused < 0n ? 0n : afterUnused;
  const used = balanceMinor < due ? balanceMinor : due;
  const lines: Line[] = [
    { kind: 'plan', amountMinor: price.minor },
    { kind: 'unused', amountMinor: -given },
    { kind: 'credit_kept', amountMinor: kept },
    { kind: 'credit_used', amountMinor: -used },
  ];
  return {
    lines: lines.filter(({ kind, amountMinor }) => kind === 'plan' || amountMinor !== 0n),
    totalMinor: due - used,
    creditUsedMinor: used,
    creditKept: keptCredit({ fits, kept, unused }),
  };
}

function keptCredit({ fits, kept, unused }: { fits: boolean; kept: bigint; unused: Money | null }): Money | null {
  if (!unused) return null;
  const minor = fits ? kept : unused.minor;
  return minor > 0n ? { minor, currencyCode: unused.currencyCode } : null;
}

function seconds(at: Date): bigint {
  return BigInt(Math.floor(at.getTime() / 1000));
}
