/**
 * What stops guessing: tries are counted per account, per address and per known device. A try reserves its failure
 * before the password is looked at and gives it back when it succeeds, so that parallel tries cannot slip past the
 * count; and a refused try is not counted, so that knocking on does not extend a lock.
 */
import { sql, type Queryable } from '../../db/database.ts';
import { deriveKey, mac } from '../../lib/crypto.ts';
import { createConcurrencyLimit } from '../../lib/concurrency-limit.ts';
import type { Context } from '../context.ts';
import {
  LOGIN_DELAY_FIRST_MS,
  LOGIN_FAILURES_PER_DAY_MAX,
  LOGIN_FAILURES_MAX,
  LOGIN_TRIES_AT_ONCE_MAX,
  LOGIN_TRIES_PER_MINUTE_MAX,
  LOGIN_WINDOW_MINUTES,
  SECOND_FACTOR_TRIES_MAX,
  SECOND_FACTOR_TRIES_PER_DAY_MAX,
} from './account-limits.ts';
import { tooManyLogins } from './account-errors.ts';

/** At most `max` failures within `seconds`. */
export interface LoginBound {
  readonly max: number;
  readonly seconds: number;
}

/** Something whose failures are counted together. */
export interface LoginSubject {
  /** Never an address or a device in clear: what was typed as an account may be a password. */
  readonly key: string;
  readonly bounds: readonly LoginBound[];
  /** Counts the tries that went well, too. */
  readonly countsAll?: boolean;
  /** After the first few failures of this subject the answer is late, twice as late with each further one. */
  readonly isSlowedDown?: boolean;
}

const DAY_SECONDS = 24 * 60 * 60;
const WINDOW_SECONDS = LOGIN_WINDOW_MINUTES * 60;

/** Decision D11, and an end to patience that outlives the window. */
export const GUESSES: readonly LoginBound[] = [
  { max: LOGIN_FAILURES_MAX, seconds: WINDOW_SECONDS },
  { max: LOGIN_FAILURES_PER_DAY_MAX, seconds: DAY_SECONDS },
];
export const GUESSES_OF_ADDRESS: readonly LoginBound[] = [{ max: LOGIN_FAILURES_MAX, seconds: WINDOW_SECONDS }];
export const PACE_OF_ADDRESS: readonly LoginBound[] = [{ max: LOGIN_TRIES_PER_MINUTE_MAX, seconds: 60 }];
export const GUESSES_OF_CODE: readonly LoginBound[] = [
  { max: SECOND_FACTOR_TRIES_MAX, seconds: WINDOW_SECONDS },
  { max: SECOND_FACTOR_TRIES_PER_DAY_MAX, seconds: DAY_SECONDS },
];

/** Old rows that one login sweeps away: more than it adds, so that the table never grows. */
const SWEPT_AT_ONCE = 100;

interface ReservedRow {
  readonly id: bigint;
  readonly subject: string;
}

export interface Reservation {
  /** Those that are given back when the try goes well. */
  readonly rows: readonly ReservedRow[];
  /** How late the answer should be. */
  readonly delayMs: number;
}

/** A subject as it is stored. People type passwords where their address belongs; and addresses are nothing to keep either. */
export function hiddenSubject({ installation }: Pick<Context, 'installation'>, subject: string): string {
  return mac(deriveKey(installation.secret, 'accounts.login-subject'), subject).toString('base64url');
}

/** An attack must not take all connections to the database from everybody else. */
const reserving = createConcurrencyLimit({
  runningMax: 2,
  waitingPerKeyMax: 1_000,
  refuse: () => tooManyLogins(10),
});

/** Counts this try as failed until `release`. Throws RateLimitedError `LOGIN_RATE_LIMITED` when a subject is used up. */
export function reserveLoginTry(db: Queryable, subjects: readonly LoginSubject[]): Promise<Reservation> {
  return reserving.run(() => reserve(db, subjects));
}

async function reserve(db: Queryable, subjects: readonly LoginSubject[]): Promise<Reservation> {
  // Most tries of an attack end here, for the price of one read.
  await refuseUsedUp(db, subjects, 0);
  await sweep(db);
  const keys = subjects.map(({ key }) => key);
  const rows = await db.query<ReservedRow & Record<string, unknown>>(
    sql`INSERT INTO login_failure (subject) SELECT unnest(${keys}::text[]) RETURNING id, subject`,
  );
  try {
    const failures = await refuseUsedUp(db, subjects, 1);
    const kept = new Set(subjects.filter(({ countsAll }) => countsAll).map(({ key }) => key));
    return { rows: rows.filter(({ subject }) => !kept.has(subject)), delayMs: delayOf(failures) };
  } catch (error) {
    await countNoLoginTry(db, { rows });
    throw error;
  }
}

/** The try did not fail (or was not let in): it no longer counts. */
export async function countNoLoginTry(db: Queryable, { rows }: Pick<Reservation, 'rows'>): Promise<void> {
  // By the whole key: under an attack the table is large.
  await db.execute(sql`
    DELETE FROM login_failure WHERE (subject, id) IN (
      SELECT * FROM unnest(${rows.map(({ subject }) => subject)}::text[], ${rows.map(({ id }) => id)}::bigint[]))`);
}

/** Answers how often those subjects that slow down have failed. `own` of the rows are this try's. */
async function refuseUsedUp(db: Queryable, subjects: readonly LoginSubject[], own: 0 | 1): Promise<number> {
  const bounds = subjects.flatMap((subject) => subject.bounds.map((bound) => ({ ...bound, ...subject })));
  const [row] = await db.query<{ seconds: number | null; failures: number }>(
    sql`
    SELECT max(ceil(extract(epoch FROM last.at + make_interval(secs => b.seconds) - now())))::int AS seconds,
           coalesce(max(b.failures), 0)::int AS failures
      FROM (SELECT b.*, CASE WHEN slowed THEN (
                     SELECT count(*) FROM login_failure f
                      WHERE f.subject = b.subject AND f.at > now() - make_interval(secs => b.seconds)) END AS failures
              FROM unnest(${bounds.map(({ key }) => key)}::text[], ${bounds.map(({ max }) => max + own - 1)}::int[],
                          ${bounds.map(({ seconds }) => seconds)}::int[],
                          ${bounds.map((one) => one.isSlowedDown === true && one.seconds === WINDOW_SECONDS)}::bool[])
                   AS b (subject, place, seconds, slowed)) b
      LEFT JOIN LATERAL (SELECT f.at FROM login_failure f
                          WHERE f.subject = b.subject AND f.at > now() - make_interval(secs => b.seconds)
                          ORDER BY f.id DESC OFFSET b.place LIMIT 1) last ON true`,
    'accounts.login_failures',
  );
  if (typeof row?.seconds === 'number') throw tooManyLogins(Math.max(1, row.seconds));
  return row?.failures ?? 0;
}

/** The first few answers come at once; then 100 ms, 200 ms, up to 1.6 s at the tenth. */
function delayOf(failures: number): number {
  if (failures <= LOGIN_TRIES_AT_ONCE_MAX) return 0;
  return LOGIN_DELAY_FIRST_MS * 2 ** Math.min(failures - LOGIN_TRIES_AT_ONCE_MAX - 1, 4);
}

async function sweep(db: Queryable): Promise<void> {
  await db.execute(sql`
    DELETE FROM login_failure WHERE (subject, id) IN (
      SELECT subject, id FROM login_failure WHERE at < now() - make_interval(secs => ${DAY_SECONDS})
       LIMIT ${SWEPT_AT_ONCE} FOR UPDATE SKIP LOCKED)`);
}
