/**
 * Local times of time zones (D75): a time in the gap of a change of clocks is the first instant after it, a time that occurs twice
 * its first occurrence. Zones are names of IANA. Days are texts (`2026-12-31`), times of day too (`09:00`), instants are milliseconds.
 */
import { isDay } from '../../../lib/calendar-day.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Zones in use at once; a formatter takes some 20 KB. */
const FORMATTERS_MAX = 100;

const formatters = new Map<string, Intl.DateTimeFormat>();

/** Days have four digits of a year: an earlier or later one, such as a placeholder with a zone of its own, is the first or the last one. */
const FIRST_DAY = '0001-01-01';
const LAST_DAY = '9999-12-31';
const FIRST_DAY_MS = Date.parse(`${FIRST_DAY}T00:00:00Z`);
const LAST_DAY_MS = Date.parse(`${LAST_DAY}T00:00:00Z`);
/** A later instant has another spelling, which the database does not read. */
const LAST_MS = LAST_DAY_MS + DAY_MS - 1;

/** The instant at which local clocks show this day and time. */
export function instantOf(zone: string, day: string, time: string): number {
  return Math.min(instantIn(zone, day, time), LAST_MS);
}

function instantIn(zone: string, day: string, time: string): number {
  const shown = Date.parse(`${day}T${time}Z`);
  const [before, after] = [offsetAt(zone, shown - DAY_MS), offsetAt(zone, shown + DAY_MS)];
  const candidates = [shown - before, shown - after].filter((at) => at + offsetAt(zone, at) === shown);
  return candidates.length > 0 ? Math.min(...candidates) : endOfGap(zone, shown - after, shown - before);
}

/** The day that local clocks show. */
export function dayAt(zone: string, instant: number): string {
  return dayOf(instant + offsetAt(zone, instant));
}

/** Of a time in UTC. */
function dayOf(time: number): string {
  if (time < FIRST_DAY_MS) return FIRST_DAY;
  return time < LAST_DAY_MS ? new Date(time).toISOString().slice(0, 'YYYY-MM-DD'.length) : LAST_DAY;
}

/** The time of day that they show, with milliseconds. */
export function timeAt(zone: string, instant: number): string {
  return new Date(instant + offsetAt(zone, instant))
    .toISOString()
    .slice('YYYY-MM-DDT'.length, 'YYYY-MM-DDTHH:MM:SS.sss'.length);
}

/** So many days later in the calendar. */
export function dayAfter(day: string, days: number): string {
  return dayOf(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS);
}

/** By ISO 8601: 1 is Monday, 7 is Sunday. */
export function weekdayOf(day: string): number {
  return ((new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7) + 1;
}

/** The day with the month and day of another one in this year; 29 February is 28 February in years without it (D76). */
export function anniversaryIn(year: number, day: string): string {
  const same = `${String(year).padStart(4, '0')}${day.slice('YYYY'.length)}`;
  return isDay(same) ? same : same.replace('-02-29', '-02-28');
}

/** Local time minus UTC, in milliseconds. */
function offsetAt(zone: string, instant: number): number {
  const parts = formatterOf(zone).formatToParts(instant);
  const part = (type: Intl.DateTimeFormatPartTypes) => Number(parts.find((one) => one.type === type)?.value);
  const shown = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
  return shown - Math.floor(instant / 1_000) * 1_000;
}

function formatterOf(zone: string): Intl.DateTimeFormat {
  const known = formatters.get(zone);
  if (known) return known;
  const [oldest] = formatters.keys();
  if (formatters.size >= FORMATTERS_MAX && oldest !== undefined) formatters.delete(oldest);
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    ...{ year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' },
  });
  formatters.set(zone, made);
  return made;
}

/** The first instant with the later offset: clocks change once between the two. */
function endOfGap(zone: string, from: number, to: number): number {
  const later = offsetAt(zone, to);
  let [low, high] = [Math.floor(from / 1_000), Math.ceil(to / 1_000)];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(zone, middle * 1_000) === later) high = middle;
    else low = middle + 1;
  }
  return low * 1_000;
}
