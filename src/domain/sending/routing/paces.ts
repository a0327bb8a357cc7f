/**
 * Paces: token buckets in the database, shared by all workers and refilled by its clock; of a server, of a customer, of a
 * provider behind a server, and the day of a warm-up. A window of messages takes from all of them in one statement, and returns
 * what an earlier one did not use. Nobody sleeps on a pace: jobs come again later.
 */
import { sql, row, type Queryable, type RowOf } from '../../../db/database.ts';
import { assert } from '../../../lib/errors.ts';

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

const PACE_ANSWER_ROW = row({
  granted: 'int[]',
  /** What each class's own bucket would have given. */
  classRemaining: 'int[]',
  /** The outer bucket or the day that limited it; null: all that the classes allow was granted. */
  stoppedBy: 'int?',
  /** Seconds until it allows one more. */
  waitSeconds: 'float8',
});
export type PaceAnswer = RowOf<typeof PACE_ANSWER_ROW>;

/** Takes as much as there is. */
export async function takePaces(db: Queryable, question: PaceQuestion): Promise<PaceAnswer> {
  const { buckets, classes, warmUp, returned, dayReturned } = question;
  const [row] = await db.query(
    PACE_ANSWER_ROW,
    sql`SELECT granted, class_remaining AS "classRemaining", stopped_by AS "stoppedBy", wait_seconds AS "waitSeconds"
          FROM hot.take_paces(${buckets.map(({ key }) => key)}::text[], ${buckets.map(capacityOf)}::float8[],
            ${buckets.map(({ pace }) => perSecond(pace))}::float8[], ${buckets.map(({ isOuter }) => isOuter)}::boolean[],
            ${buckets.map(({ key }) => returned.get(key) ?? 0)}::int[],
            ${classes.map(({ wanted }) => wanted)}::int[], ${classes.map(({ bucket }) => (bucket === undefined ? 0 : bucket + 1))}::int[],
            ${warmUp?.serverId ?? null}::bigint, ${warmUp ? JSON.stringify(warmUp.schedule) : null}::jsonb,
            ${warmUp?.startedAt ?? null}::timestamptz, ${dayReturned}::int)`,
    'sending.take-paces',
  );
  assert(row, 'a pace always answers');
  return row;
}

/** Messages a second. */
export function perSecond({ value, periodSeconds }: Pace): number {
  return value / periodSeconds;
}

function capacityOf({ pace, burstSeconds }: Bucket): number {
  return Math.min(pace.value, Math.max(1, perSecond(pace) * burstSeconds));
}

/** Seconds until each of the outer buckets and the warm-up's day may have something: 0 now. Takes nothing. */
export async function paceWaitSeconds(
  db: Queryable,
  { buckets, warmUp }: Pick<PaceQuestion, 'buckets' | 'warmUp'>,
): Promise<number> {
  const outer = buckets.filter(({ isOuter }) => isOuter);
  const [row] = await db.query(
    { wait: 'float8?' },
    sql`SELECT greatest(
          (SELECT max(greatest(1, 1 / b.rate)) FROM unnest(${outer.map(({ key }) => key)}::text[], ${outer.map(({ pace }) => perSecond(pace))}::float8[]) AS b(key, rate)
             JOIN hot.rate_bucket r ON r.key = b.key
            WHERE r.tokens + extract(epoch FROM clock_timestamp() - r.refilled_at) * b.rate < 1),
          (SELECT 1 + 86400 * n.day - extract(epoch FROM clock_timestamp() - ${warmUp?.startedAt ?? null}::timestamptz)
             FROM (SELECT hot.warm_up_day_no(${warmUp?.startedAt ?? null}::timestamptz) AS day) n
             JOIN hot.warm_up_day d ON d.server_id = ${warmUp?.serverId ?? null}::bigint AND d.day = n.day
            WHERE d.taken >= hot.warm_up_limit(${warmUp ? JSON.stringify(warmUp.schedule) : null}::jsonb, n.day)))::float8 AS wait`,
    'sending.look-at-paces',
  );
  return Math.max(0, row?.wait ?? 0);
}

/** Records the warm-up; above its share of bounces it stops automatically. */
export async function recordWarmUp(
  db: Queryable,
  serverId: bigint,
  report: { sent: number; bounced: number },
): Promise<void> {
  await db.execute(
    sql`SELECT hot.record_warm_up(${serverId}, ${report.sent}::int, ${report.bounced}::int)::text`,
    'sending.note-warm-up',
  );
}
