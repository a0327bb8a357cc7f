/**
 * The limit of decision D11: failed logins per account and per address. A try reserves its failure before the
 * password is looked at and gives it back when it succeeds, so that parallel tries cannot slip past the count.
 */
import { sql, type Queryable } from '../../db/database.ts';
import { LOGIN_FAILURES_MAX, LOGIN_WINDOW_MINUTES } from './account-limits.ts';
import { tooManyLogins } from './account-errors.ts';

/** Old rows that one login sweeps away: more than it adds, so that the table never grows. */
const SWEPT_AT_ONCE = 100;

export interface Reservation {
  readonly ids: readonly bigint[];
}

/** Counts this try as failed until `release`. Throws RateLimitedError `LOGIN_RATE_LIMITED` when a subject is used up. */
export async function reserveLoginTry(db: Queryable, subjects: readonly string[]): Promise<Reservation> {
  await sweep(db);
  const rows = await db.query<{ id: bigint }>(
    sql`INSERT INTO login_failure (subject) SELECT unnest(${subjects}::text[]) RETURNING id`,
  );
  const reservation = { ids: rows.map((row) => row.id) };
  const retryAfterSeconds = await secondsUntilFree(db, subjects);
  if (retryAfterSeconds === 0) return reservation;
  await releaseLoginTry(db, reservation);
  throw tooManyLogins(retryAfterSeconds);
}

/** The try did not fail (or was not let in): it no longer counts. */
export async function releaseLoginTry(db: Queryable, reservation: Reservation): Promise<void> {
  await db.execute(sql`DELETE FROM login_failure WHERE id = ANY(${reservation.ids}::bigint[])`);
}

/** 0 while every subject has at most the allowed tries, own reservation included; else when the next is welcome. */
async function secondsUntilFree(db: Queryable, subjects: readonly string[]): Promise<number> {
  const [row] = await db.query<{ seconds: number | null }>(sql`
    SELECT max(ceil(extract(epoch FROM freed - now())))::int AS seconds
      FROM (SELECT subject, (array_agg(at ORDER BY id DESC))[${LOGIN_FAILURES_MAX + 1}::int]
                   + make_interval(mins => ${LOGIN_WINDOW_MINUTES}) AS freed
              FROM login_failure
             WHERE subject = ANY(${subjects}::text[]) AND at > now() - make_interval(mins => ${LOGIN_WINDOW_MINUTES})
             GROUP BY subject) s
     WHERE freed IS NOT NULL`);
  return row?.seconds ? Math.max(1, row.seconds) : 0;
}

async function sweep(db: Queryable): Promise<void> {
  await db.execute(sql`
    DELETE FROM login_failure WHERE (subject, id) IN (
      SELECT subject, id FROM login_failure WHERE at < now() - make_interval(mins => ${LOGIN_WINDOW_MINUTES})
       LIMIT ${SWEPT_AT_ONCE} FOR UPDATE SKIP LOCKED)`);
}
