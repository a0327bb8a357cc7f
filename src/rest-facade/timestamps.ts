/** Times as REST clients write and read them (decision D8): `YYYY-MM-DD HH:MM:SS`, UTC. GraphQL speaks ISO 8601. */

const REST_TIME = /^\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/i;
// PostgreSQL allows later years; nobody needs them.
const YEAR_MAX = 9_999;

/** `2026-11-21T03:05:00.000Z` -> `2026-11-21 03:05:00`. */
export function restTime(iso: string): string;
export function restTime(iso: string | null | undefined): string | null;
export function restTime(iso: string | null | undefined): string | null {
  return iso ? new Date(iso).toISOString().slice(0, 19).replace('T', ' ') : null;
}

/** The ISO time of a client's text (without a zone: UTC), or undefined when it is none. */
export function isoTime(text: string): string | undefined {
  const given = text.trim();
  if (!REST_TIME.test(given)) return undefined;
  const withT = given.replace(' ', 'T');
  const withTime = withT.includes('T') || withT.includes('t') ? withT : `${withT}T00:00:00`;
  const time = new Date(/(?:Z|[+-]\d{2}:?\d{2})$/i.test(withTime.slice(10)) ? withTime : `${withTime}Z`);
  // A 30th of February would roll over into March.
  if (Number.isNaN(time.getTime()) || time.getUTCFullYear() > YEAR_MAX) return undefined;
  return isRealDay(given) ? time.toISOString() : undefined;
}

function isRealDay(text: string): boolean {
  const [year = 0, month = 0, day = 0] = text.slice(0, 10).split('-').map(Number);
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}
