/**
 * Limits guessing: tries are counted per account, per address and per known device. A try is counted as failed before the
 * password is checked and is given back when it succeeds, so that parallel tries cannot evade the count; a refused try is not
 * counted, so that further tries do not extend a lock.
 */
import type { Queryable } from '../../db/database.ts';
import { giveBackToWindows, takeFromWindows, type WindowLimit } from '../../db/rate-windows.ts';
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

/** A subject whose failures are counted together. */
export interface LoginSubject {
  /** Never an address or a device in clear: what was typed as an account may be a password. */
  readonly key: string;
  readonly bounds: readonly LoginBound[];
  /** Counts successful tries, too. */
  readonly countsAll?: boolean;
  /** After the first few failures of this subject the answer is delayed, doubling with each further one. */
  readonly isSlowedDown?: boolean;
}

const DAY_SECONDS = 24 * 60 * 60;
const WINDOW_SECONDS = LOGIN_WINDOW_MINUTES * 60;

/** Decision D11, and a limit per day that lasts longer than the window. */
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

export interface Reservation {
  /** Given back when the try succeeds. */
  readonly limits: readonly WindowLimit[];
  /** The delay of the answer. */
  readonly delayMs: number;
}

/** A subject in its stored form. People type passwords into the address field, and addresses should not be stored either. */
export function hiddenSubject({ installation }: Pick<Context, 'installation'>, subject: string): string {
  return mac(deriveKey(installation.secret, 'accounts.login-subject'), subject).toString('base64url');
}

/** An attack must not use all connections to the database. */
const reserving = createConcurrencyLimit({
  runningMax: 2,
  waitingPerKeyMax: 1_000,
  refuse: () => tooManyLogins(10),
});

/**
 * Counts this try as failed until it is given back. Throws RateLimitedError `LOGIN_RATE_LIMITED` when a subject's limit is
 * reached.
 */
export function reserveLoginTry(db: Queryable, subjects: readonly LoginSubject[]): Promise<Reservation> {
  return reserving.run(() => reserve(db, subjects));
}

async function reserve(db: Queryable, subjects: readonly LoginSubject[]): Promise<Reservation> {
  const { refusedBy, used } = await takeFromWindows(db, subjects.flatMap(limitsOf));
  if (refusedBy) throw tooManyLogins(Math.max(1, Math.ceil(refusedBy.endsInSeconds)));
  const slowing = subjects.filter(({ isSlowedDown }) => isSlowedDown).map(({ key }) => windowKey(key, WINDOW_SECONDS));
  const failures = Math.max(0, ...slowing.map((key) => used.get(key) ?? 0));
  return { limits: subjects.filter(({ countsAll }) => !countsAll).flatMap(limitsOf), delayMs: delayOf(failures) };
}

function limitsOf({ key, bounds }: LoginSubject): WindowLimit[] {
  return bounds.map(({ max, seconds }) => ({ key: windowKey(key, seconds), max, seconds }));
}

function windowKey(subject: string, seconds: number): string {
  return `login:${subject}/${seconds}`;
}

/** The try succeeded: it no longer counts. */
export async function countNoLoginTry(db: Queryable, { limits }: Pick<Reservation, 'limits'>): Promise<void> {
  await giveBackToWindows(db, limits);
}

/** The first few answers come at once; then 100 ms, 200 ms, up to 1.6 s at the tenth. */
function delayOf(failures: number): number {
  if (failures <= LOGIN_TRIES_AT_ONCE_MAX) return 0;
  return LOGIN_DELAY_FIRST_MS * 2 ** Math.min(failures - LOGIN_TRIES_AT_ONCE_MAX - 1, 4);
}
