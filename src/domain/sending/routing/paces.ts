/**
 * Paces: token buckets in the database, shared by all workers and refilled by its clock; of a server, of a customer, of a
 * provider behind a server, and the day of a warm-up. A window of messages takes from all of them in one statement, and returns
 * what an earlier one did not use. Nobody sleeps on a pace: jobs come again later.
 */

/** At most `value` messages in `periodSeconds`. */
export interface Pace {
  readonly value: number;
  readonly periodSeconds: number;
}

/** A server's quota as its row has it. */
export interface QuotaRow {
  readonly quota_value: number | null;
  readonly quota_base: number | null;
  readonly quota_unit: string | null;
}

const SECONDS_PER_UNIT = new Map([
  ['second', 1],
  ['minute', 60],
  ['hour', 3_600],
  ['day', 86_400],
  ['month', 2_592_000],
]);

/** The pace for a quota; null: unlimited. */
export function quotaOf({ quota_value, quota_base, quota_unit }: QuotaRow): Pace | null {
  if (quota_value === null || quota_value < 0) return null;
  return {
    value: quota_value,
    periodSeconds: (quota_base ?? 1) * (SECONDS_PER_UNIT.get(quota_unit ?? 'hour') ?? 3_600),
  };
}

export interface Bucket {
  readonly key: string;
  readonly pace: Pace;
  /** How many seconds' worth of messages may go at once after a pause; at least one message. */
  readonly burstSeconds: number;
  /** Applies to all messages of the window together, not to one class of them. */
  readonly isOuter: boolean;
}

export interface WarmUpState {
  readonly serverId: bigint;
  readonly schedule: unknown;
  readonly startedAt: Date;
}

export interface PaceQuestion {
  readonly buckets: readonly Bucket[];
  /** Messages by class; `bucket` is the class's own, by its index. */
  readonly classes: readonly { readonly wanted: number; readonly bucket: number | undefined }[];
  readonly warmUp: WarmUpState | undefined;
  /** Taken before and not used, by key of the bucket; for the warm-up's day in all. */
  readonly returned: ReadonlyMap<string, number>;
  readonly dayReturned: number;
}

/** The messages that a full bucket holds. */
export function capacityOf({ pace: { value, periodSeconds }, burstSeconds }: Bucket): number {
  return Math.min(value, Math.max(1, (value / periodSeconds) * burstSeconds));
}

/** Of a full bucket at most so much of a period's messages may go at once, if no period is to have more than its number. */
const CAPACITY_SHARE_MAX = 1 / 60;

/**
 * Messages a second. After a pause a full bucket goes at once, so it fills up slower by that much: no stretch of a period's length
 * ever has more than its number, and at most a sixtieth is held back. Periods under a minute are an average: windows of messages
 * take a second's worth at once.
 */
export function refillOf(bucket: Bucket): number {
  const { value, periodSeconds } = bucket.pace;
  const capacity = capacityOf(bucket);
  const isExact = capacity <= Math.max(1, value * CAPACITY_SHARE_MAX * (1 + Number.EPSILON));
  return (isExact ? value + 1 - capacity : value) / periodSeconds;
}
