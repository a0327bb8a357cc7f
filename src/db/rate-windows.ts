/**
 * Limits such as "60 in a minute", counted over all processes of the installation: of requests, failed logins, and mails to
 * addresses that a customer only names. One row per key holds its count. A window of requests begins with the first one and ends
 * after its seconds; all others slide (`hot.slide_window`), so that no stretch of their length has more than the number. The table is
 * unlogged: a crash of the database begins new windows. The paces of sending are token buckets instead
 * (`domain/sending/routing/paces`): they let messages through evenly, not all at the beginning of a window.
 */
import { sql, row, type Queryable, type RowOf } from './database.ts';

/** At most `max` in a window of `seconds`. */
export interface WindowLimit {
  readonly key: string;
  readonly max: number;
  readonly seconds: number;
}

export interface WindowCount {
  readonly key: string;
  readonly seconds: number;
  /** How many are added. */
  readonly n: number;
}

const COUNTED_WINDOW_ROW = row({
  key: 'text',
  used: 'float8',
  /** Until it ends; of a sliding one, until it has room. */
  endsInSeconds: 'float8',
});
/** A window after something was added. */
export type CountedWindow = RowOf<typeof COUNTED_WINDOW_ROW>;

/** The result of taking some of each window. */
export interface WindowsTaken {
  /** The limit that allowed no more: nothing was taken. If there are several, the one that ends last. */
  readonly refusedBy: (WindowLimit & { readonly endsInSeconds: number }) | undefined;
  /** How many each window has now, by its key. */
  readonly used: ReadonlyMap<string, number>;
}

const COLUMNS = sql`key, used::float8 AS used, extract(epoch FROM ends_at - now())::float8 AS "endsInSeconds"`;

/** All lock windows in this order, whatever the database's own: two processes with the same keys never deadlock. */
const inOrder = sql`ORDER BY key COLLATE "C"`;

/** Adds to windows that begin with their first item, without a check of limits. */
export function countInWindows(db: Queryable, counts: readonly WindowCount[]): Promise<CountedWindow[]> {
  return db.query(
    COUNTED_WINDOW_ROW,
    sql`
    INSERT INTO hot.rate_window AS w (key, used, ends_at)
    SELECT a.key, a.n, now() + make_interval(secs => a.seconds)
      FROM unnest(${counts.map(({ key }) => key)}::text[], ${counts.map(({ n }) => n)}::bigint[],
                  ${counts.map(({ seconds }) => seconds)}::int[]) AS a (key, n, seconds)
     ${inOrder}
    ON CONFLICT (key) DO UPDATE
       SET used = CASE WHEN w.ends_at > now() THEN w.used ELSE 0 END + excluded.used,
           ends_at = CASE WHEN w.ends_at > now() THEN w.ends_at ELSE excluded.ends_at END
    RETURNING ${COLUMNS}`,
    'db.count_in_windows',
  );
}

/** Takes `n` from each sliding window, or nothing if one of them has fewer left. */
export async function takeFromWindows(db: Queryable, limits: readonly WindowLimit[], n = 1): Promise<WindowsTaken> {
  // Most tries of an attack end here, after one read.
  const before = taken(await readWindows(db, limits, n), limits, n);
  if (before.refusedBy) return before;
  await addToWindows(db, limits, n);
  const after = taken(await readWindows(db, limits, 0), limits, 0);
  // Other requests were counted in between.
  if (after.refusedBy) await giveBackToWindows(db, limits, n);
  return after;
}

/** Gives back what was not used to sliding windows. */
export async function giveBackToWindows(
  db: Queryable,
  limits: readonly Pick<WindowLimit, 'key'>[],
  n = 1,
): Promise<void> {
  await db.execute(
    sql`
    UPDATE hot.rate_window w
       SET used = greatest(0, w.used - ${n}::bigint),
           totals = ARRAY(SELECT least(t.total, w.totals[cardinality(w.totals)] - ${n}::bigint) FROM unnest(w.totals) WITH ORDINALITY AS t(total, no) ORDER BY t.no)
      FROM (SELECT key FROM hot.rate_window WHERE key = ANY (${limits.map(({ key }) => key)}::text[]) AND ends_at > now()
             ${inOrder} FOR UPDATE) k
     WHERE w.key = k.key`,
    'db.give_back_to_windows',
  );
}

/** Deletes windows that ended; called on schedule. */
export async function dropEndedWindows(db: Queryable): Promise<number> {
  return db.execute(sql`DELETE FROM hot.rate_window WHERE ends_at < now() - interval '1 minute'`);
}

/** Each add moves the end: then the last item has left. */
async function addToWindows(db: Queryable, limits: readonly WindowLimit[], n: number): Promise<void> {
  await db.execute(
    sql`
    INSERT INTO hot.rate_window AS w (key, used, ends_at, times, totals)
    SELECT a.key, ${n}::bigint, now() + make_interval(secs => a.seconds), ARRAY[now(), now()], ARRAY[0, ${n}::bigint]
      FROM unnest(${limits.map(({ key }) => key)}::text[], ${limits.map(({ seconds }) => seconds)}::int[]) AS a (key, seconds)
     ${inOrder}
    ON CONFLICT (key) DO UPDATE SET (used, ends_at, times, totals) =
      (SELECT t.total - s.totals[1], excluded.ends_at, s.times, s.totals
         FROM (SELECT coalesce(w.totals[cardinality(w.totals)], 0) + excluded.used AS total) t
        CROSS JOIN LATERAL hot.slide_window(w.times, w.totals, t.total, now(), excluded.ends_at - now()) s)`,
    'db.add_to_windows',
  );
}

/** How many each window holds, and the seconds until it has room for `n` more; none that is empty. */
function readWindows(db: Queryable, limits: readonly WindowLimit[], n: number): Promise<CountedWindow[]> {
  return db.query(
    COUNTED_WINDOW_ROW,
    sql`
    SELECT w.key, (t.total - s.totals[1])::float8 AS used,
           coalesce(greatest(0, extract(epoch FROM hot.room_in_window_at(s.times, s.totals, t.total, a.max - ${n}::bigint + 1, l.length) - now())),
                    a.seconds)::float8 AS "endsInSeconds"
      FROM unnest(${limits.map(({ key }) => key)}::text[], ${limits.map(({ max }) => max)}::bigint[],
                  ${limits.map(({ seconds }) => seconds)}::int[]) AS a (key, max, seconds)
      JOIN hot.rate_window w ON w.key = a.key AND w.ends_at > now() AND cardinality(w.totals) > 0
     CROSS JOIN LATERAL (SELECT make_interval(secs => a.seconds) AS length) l
     CROSS JOIN LATERAL (SELECT w.totals[cardinality(w.totals)] AS total) t
     CROSS JOIN LATERAL hot.slide_window(w.times, w.totals, t.total, now(), l.length) s`,
    'db.read_windows',
  );
}

/** `n` more are wanted of the windows as they are. */
function taken(windows: readonly CountedWindow[], limits: readonly WindowLimit[], n: number): WindowsTaken {
  const byKey = new Map(windows.map((window) => [window.key, window]));
  const refusing = limits
    .map((limit) => ({ ...limit, used: 0, endsInSeconds: 0, ...byKey.get(limit.key) }))
    .filter(({ used, max }) => used + n > max)
    .sort((a, b) => b.endsInSeconds - a.endsInSeconds);
  return { refusedBy: refusing[0], used: new Map(windows.map(({ key, used }) => [key, used])) };
}
