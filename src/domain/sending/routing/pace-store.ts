/** Rows of token buckets and of the days of warm-ups, shared by all workers (paces.ts). */
import { row, sql, type Queryable, type RowOf } from '../../../db/database.ts';
import { assert } from '../../../lib/errors.ts';
import { capacityOf, refillOf, type PaceQuestion } from './paces.ts';

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
            ${buckets.map(refillOf)}::float8[], ${buckets.map(({ isOuter }) => isOuter)}::boolean[],
            ${buckets.map(({ key }) => returned.get(key) ?? 0)}::int[],
            ${classes.map(({ wanted }) => wanted)}::int[], ${classes.map(({ bucket }) => (bucket === undefined ? 0 : bucket + 1))}::int[],
            ${warmUp?.serverId ?? null}::bigint, ${warmUp ? JSON.stringify(warmUp.schedule) : null}::jsonb,
            ${warmUp?.startedAt ?? null}::timestamptz, ${dayReturned}::int)`,
    'sending.take-paces',
  );
  assert(row, 'a pace always answers');
  return row;
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
          (SELECT max(greatest(1, 1 / b.rate)) FROM unnest(${outer.map(({ key }) => key)}::text[], ${outer.map(refillOf)}::float8[]) AS b(key, rate)
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

/** Deletes buckets by the hour that have been full for long. Answers how many they were. */
export function deleteOldBuckets(db: Queryable): Promise<number> {
  return db.execute(
    sql`DELETE FROM hot.rate_bucket WHERE (key LIKE 'domain:%' OR key LIKE 'customer:%') AND refilled_at < now() - interval '1 day'`,
  );
}
