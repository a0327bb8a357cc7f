/** When a failed delivery is tried again: decision D43. */
const JITTER = 0.1;
/** A receiver that asks for more is asked again then: its log shows it. */
const RETRY_AFTER_SECONDS_MAX = 172_800;
/** Between two attempts of one delivery there is never more. */
export const RETRY_DELAY_SECONDS_MAX = RETRY_AFTER_SECONDS_MAX * (1 + JITTER);

export interface Schedule {
  readonly retryTimes: number;
  readonly retryAfterSeconds: number;
  readonly retrySecondsMax: number;
}

/**
 * Seconds until the retry after `failures` failed attempts; null: there is none. Retry n waits `retryAfterSeconds` × 2^(n-1), at most
 * `retrySecondsMax`, and up to a tenth longer; never less than the receiver has asked for.
 */
export function retryDelaySeconds(schedule: Schedule, failures: number, askedSeconds: number): number | null {
  const { retryTimes, retryAfterSeconds, retrySecondsMax } = schedule;
  if (failures > retryTimes) return null;
  const planned = Math.min(retryAfterSeconds * 2 ** (failures - 1), retrySecondsMax);
  return Math.max(planned * (1 + Math.random() * JITTER), askedSeconds);
}

/** The seconds of a `Retry-After` header, which is a number or a date (RFC 9110, 10.2.3); 0: it asks for nothing. */
export function retryAfterOf(header: string | undefined, now: Date): number {
  if (header === undefined) return 0;
  const seconds = /^\d{1,9}$/.test(header.trim()) ? Number(header) : (Date.parse(header) - now.getTime()) / 1_000;
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), RETRY_AFTER_SECONDS_MAX) : 0;
}
