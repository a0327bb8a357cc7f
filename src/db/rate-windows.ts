/**
 * Limits such as "60 in a minute", counted over all processes of the installation: of requests, failed logins, and mails to
 * addresses that a customer only names. A window begins with the first counted item and ends after its seconds; one row per key
 * holds its count. The table is unlogged: a crash of the database begins new windows. The paces of sending are token buckets
 * instead (`domain/sending/routing/paces`): they let messages through evenly, not all at the beginning of a window.
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
  /** Until it ends. */
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

/** Adds to windows without a check of limits. */
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

/** Takes `n` from each window, or nothing if one of them has fewer left. */
export async function takeFromWindows(db: Queryable, limits: readonly WindowLimit[], n = 1): Promise<WindowsTaken> {
  // Most tries of an attack end here, after one read.
  const before = taken(await readWindows(db, limits), limits, n);
  if (before.refusedBy) return before;
  const after = taken(
    await countInWindows(
      db,
      limits.map((limit) => ({ ...limit, n })),
    ),
    limits,
    0,
  );
  // Other requests were counted in between.
  if (after.refusedBy) await giveBackToWindows(db, limits, n);
  return after;
}

/** Gives back what was not used. */
export async function giveBackToWindows(
  db: Queryable,
  limits: readonly Pick<WindowLimit, 'key'>[],
  n = 1,
): Promise<void> {
  await db.execute(
    sql`
    UPDATE hot.rate_window w SET used = greatest(0, w.used - ${n}::bigint)
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

function readWindows(db: Queryable, limits: readonly WindowLimit[]): Promise<CountedWindow[]> {
  return db.query(
    COUNTED_WINDOW_ROW,
    sql`SELECT ${COLUMNS} FROM hot.rate_window
         WHERE key = ANY (${limits.map(({ key }) => key)}::text[]) AND ends_at > now()`,
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
