/**
 * When a wait ends (D74 to D76). Minutes and hours are elapsed time; days are days of the calendar in the person's time zone, with an
 * optional local hour, weekdays and holidays. Pure: the same answer for the same question.
 */
import { isDateTime } from '../../audience/field-value.ts';
import type { FlowNode } from './flow-nodes.ts';
import { calendarDays, type Duration } from './flow-parts.ts';
import { anniversaryIn, dayAfter, dayAt, instantOf, timeAt, weekdayOf } from './local-time.ts';

const DAY_LENGTH = 'YYYY-MM-DD'.length;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** What is later than that is skipped (D76). */
export const LATE_MS = 24 * HOUR_MS;
/** A year of holidays in a row: there is no allowed day. */
const DAYS_TRIED_MAX = 400;

export interface WaitFrom {
  /** Milliseconds: the arrival, or the entry. */
  readonly since: number;
  /** The person's time zone, then the list's, then the customer's. */
  readonly zone: string;
}

type Wait = Extract<FlowNode, { type: 'wait' }>;
type WaitUntil = Extract<FlowNode, { type: 'wait_until' }>;

/** The end of a duration without further rules: of days, the same time of day. */
export function endOf(given: Duration, { since, zone }: WaitFrom): number {
  const days = calendarDays(given);
  if (days === undefined) return since + (given.hours ?? 0) * HOUR_MS + (given.minutes ?? 0) * MINUTE_MS;
  return instantOf(zone, dayAfter(dayAt(zone, since), days), timeAt(zone, since));
}

/** When the wait ends: never before its days are over, at the local hour of the first day that is allowed. */
export function endOfWait(node: Wait, from: WaitFrom, holidays: readonly string[]): number {
  const days = calendarDays(node.for);
  if (days === undefined) return endOf(node.for, from);
  const { since, zone } = from;
  const isAllowed = (day: string): boolean =>
    (node.weekdays?.includes(weekdayOf(day)) ?? true) && !(node.skipHolidays === true && holidays.includes(day));
  const first = dayAfter(dayAt(zone, since), days);
  return instantOf(zone, firstDay(first, isAllowed), node.at ?? timeAt(zone, since));
}

export type UntilDate =
  | { readonly at: number }
  /** The date has passed by more than a day. */
  | { readonly port: 'late' }
  /** The person's field has no date. */
  | { readonly port: 'no_date' };

/** When the date of the node comes. A date that has passed by less than a day is now. */
export function endOfWaitUntil(node: WaitUntil, from: WaitFrom, fieldValue: string | undefined): UntilDate {
  const { since, zone } = from;
  if (node.weekdays !== undefined) return { at: nextWeekday(node.weekdays, node.at, from) };
  if (node.date !== undefined) return notLate(instantOf(zone, node.date, node.at), since);
  const day = dayOfField(fieldValue, zone);
  if (day === undefined) return { port: 'no_date' };
  const shift = (calendarDays(node.after ?? { days: 0 }) ?? 0) - (calendarDays(node.before ?? { days: 0 }) ?? 0);
  if (node.yearly !== true) return notLate(instantOf(zone, dayAfter(day, shift), node.at), since);
  const year = Number(dayAt(zone, since).slice(0, 'YYYY'.length));
  const times = [year - 1, year, year + 1, year + 2].map((one) =>
    instantOf(zone, dayAfter(anniversaryIn(one, day), shift), node.at),
  );
  return { at: times.find((time) => time >= since) ?? since };
}

function notLate(at: number, now: number): UntilDate {
  return now - at > LATE_MS ? { port: 'late' } : { at };
}

/** The day in a field's value, as it is written; of one with a zone of its own the day in the person's zone. */
export function dayOfField(value: string | undefined, zone: string): string | undefined {
  if (value === undefined || !isDateTime(value)) return undefined;
  const time = value.slice(DAY_LENGTH).toUpperCase();
  const hasZone = time.endsWith('Z') || time.endsWith('UTC') || time.includes('+') || time.includes('-');
  if (!hasZone) return value.slice(0, DAY_LENGTH);
  const at = Date.parse(asIso(value));
  return Number.isNaN(at) ? value.slice(0, DAY_LENGTH) : dayAt(zone, at);
}

/** The usual spellings, as `Date` reads them. */
function asIso(value: string): string {
  const time = value.slice('YYYY-MM-DDT'.length).replace(' ', '').replace(/UTC$/i, 'Z').replace(':60', ':59');
  return `${value.slice(0, DAY_LENGTH)}T${time}`;
}

function nextWeekday(weekdays: readonly number[], time: string, { since, zone }: WaitFrom): number {
  const today = dayAt(zone, since);
  const isAllowed = (day: string): boolean => weekdays.includes(weekdayOf(day)) && instantOf(zone, day, time) > since;
  return instantOf(zone, firstDay(today, isAllowed), time);
}

function firstDay(from: string, isAllowed: (day: string) => boolean): string {
  for (let days = 0; days < DAYS_TRIED_MAX; days++) {
    const day = dayAfter(from, days);
    if (isAllowed(day)) return day;
  }
  return dayAfter(from, DAYS_TRIED_MAX);
}
