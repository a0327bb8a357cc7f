/**
 * Local time for the reference, by counting and not by calculating: what clocks in a zone show is read from `Intl` once for each quarter of an
 * hour, and the instant of a local time is the first one at which clocks show that time or a later one. That is all that D75 says: in a gap
 * it is the first instant after it, and of a doubled hour the first occurrence.
 */

const MINUTE_MS = 60_000;
/** Clocks have changed at such times only, in the years that histories are about. */
const QUARTER_MS = 15 * MINUTE_MS;
const DAY_MS = 86_400_000;
/** Histories and what they wait for stay within. */
const FROM = Date.parse('2025-12-01T00:00:00Z');
const TO = Date.parse('2028-06-01T00:00:00Z');

/** So long clocks show UTC plus `offset`. */
interface Span {
  readonly from: number;
  readonly to: number;
  readonly offset: number;
}

const spans = new Map<string, readonly Span[]>();

function offsetOf(format: Intl.DateTimeFormat, instant: number): number {
  const part = Object.fromEntries(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
  return (
    Date.UTC(part['year'] ?? 0, (part['month'] ?? 0) - 1, part['day'], part['hour'], part['minute'], part['second']) -
    instant
  );
}

function spansOf(zone: string): readonly Span[] {
  const known = spans.get(zone);
  if (known) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    ...{ year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' },
  });
  const found: Span[] = [];
  let from = FROM;
  let offset = offsetOf(format, FROM);
  for (let day = FROM; day < TO; day += DAY_MS) {
    if (offsetOf(format, day + DAY_MS) === offset) continue;
    let change = day;
    while (offsetOf(format, change) === offset) change += QUARTER_MS;
    found.push({ from, to: change, offset });
    [from, offset] = [change, offsetOf(format, change)];
  }
  found.push({ from, to: TO, offset });
  spans.set(zone, found);
  return found;
}

/** What clocks show, as `2026-12-31T23:59`. */
export function shownAt(zone: string, instant: number): string {
  const span = spansOf(zone).find(({ to }) => instant < to);
  return new Date(instant + (span?.offset ?? 0)).toISOString().slice(0, 'YYYY-MM-DDTHH:MM'.length);
}

/** The first instant at which clocks show the day and time, or a later one. */
export function firstInstant(zone: string, day: string, time: string): number {
  const wanted = Date.parse(`${day}T${time}:00Z`);
  for (const { from, to, offset } of spansOf(zone)) {
    const instant = Math.max(from, wanted - offset);
    if (instant < to) return instant;
  }
  throw new Error('A history left the years of the reference.');
}

export function daysLater(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 'YYYY-MM-DD'.length);
}

/** 1 is Monday, 7 is Sunday. */
export function weekday(day: string): number {
  return new Date(`${day}T00:00:00Z`).getUTCDay() || 7;
}
