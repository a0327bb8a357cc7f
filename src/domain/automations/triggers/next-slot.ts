/**
 * The local times at which dates and timetables fire for a person: a slot is a day of the person's calendar, at the trigger's time of
 * day (D75, D76). Pure: the same answer for the same question.
 */
import { isDay } from '../../../lib/calendar-day.ts';
import { calendarDays } from '../flow/flow-parts.ts';
import { anniversaryIn, dayAfter, dayAt, instantOf, weekdayOf } from '../flow/local-time.ts';
import { dayOfField } from '../flow/wake-time.ts';
import type { TimedTrigger } from './watched-trigger.ts';

type OnField = Extract<TimedTrigger, { type: 'date_field' }>;

const YEAR_LENGTH = 'YYYY'.length;
const MONTH_LENGTH = 'YYYY-MM'.length;
/** Two weeks and a day before: the next two of a weekday are among them, also when the first has fired in another zone. */
const WEEKLY_DAYS = 16;
const MONTHS = 3;
/** The year before, this one, and two further ones: 29 February and a day that has fired are no reason for more. */
const YEARS = 4;
/** Days have four digits of a year. */
const LAST_YEAR = 9_999;
const DAYS_OF_YEAR = 365.25;
/** People of one zone share their slots: a thousand are computed as fast as one. */
const INSTANTS_KEPT_MAX = 20_000;

export interface Slot {
  readonly day: string;
  /** Milliseconds. */
  readonly at: number;
}

export interface SlotOf {
  readonly zone: string;
  /** Of the person's field; undefined: it has none, or the trigger reads none. */
  readonly value: string | undefined;
  /** Slots after this instant. */
  readonly after: number;
  /** And after this day: no day fires twice. */
  readonly firedOn: string | null;
}

/** The next slot; undefined: there is none, because there is no date, or it is over. */
export function nextSlot(trigger: TimedTrigger, { zone, value, after, firedOn }: SlotOf): Slot | undefined {
  for (const day of daysOf(trigger, { zone, value, after })) {
    if (!isDay(day) || (firedOn !== null && day <= firedOn)) continue;
    const at = keptInstant(zone, day, trigger.at);
    if (at > after) return { day, at };
  }
  return undefined;
}

/** In their order. */
function daysOf(trigger: TimedTrigger, of: Omit<SlotOf, 'firedOn'>): readonly string[] {
  if (trigger.type === 'specific_date') return [trigger.date];
  if (trigger.type === 'date_field') return daysOfField(trigger, of);
  const today = dayAt(of.zone, of.after);
  if (trigger.type === 'monthly')
    return numbers(MONTHS).map((months) => dayOfMonth(monthAfter(today.slice(0, MONTH_LENGTH), months), trigger.day));
  return numbers(WEEKLY_DAYS)
    .map((days) => dayAfter(today, days - 1))
    .filter((day) => trigger.weekdays.includes(weekdayOf(day)));
}

function daysOfField(trigger: OnField, { zone, value, after }: Omit<SlotOf, 'firedOn'>): readonly string[] {
  const own = dayOfField(value, zone);
  if (own === undefined) return [];
  const shift = daysIn(trigger.after) - daysIn(trigger.before);
  if (trigger.yearly !== true) return [dayAfter(own, shift)];
  // Never before the date itself.
  const first = Number(own.slice(0, YEAR_LENGTH)) + (trigger.notInFirstYear === true ? 1 : 0);
  const year = Number(dayAt(zone, after).slice(0, YEAR_LENGTH)) - Math.round(shift / DAYS_OF_YEAR) - 1;
  return numbers(YEARS)
    .map((years) => Math.max(first, year) + years)
    .filter((one) => one <= LAST_YEAR)
    .map((one) => dayAfter(anniversaryIn(one, own), shift));
}

function daysIn(duration: OnField['before']): number {
  return duration === undefined ? 0 : (calendarDays(duration) ?? 0);
}

/** 0, 1, 2, … */
function numbers(count: number): readonly number[] {
  return Array.from({ length: count }, (_one, no) => no);
}

function monthAfter(month: string, months: number): string {
  const [year = 0, no = 1] = month.split('-').map(Number);
  return new Date(Date.UTC(year, no - 1 + months, 1)).toISOString().slice(0, MONTH_LENGTH);
}

/** The last day of a month that is shorter. */
function dayOfMonth(month: string, day: number): string {
  const length = Number(dayAfter(`${monthAfter(month, 1)}-01`, -1).slice('YYYY-MM-'.length));
  return `${month}-${String(Math.min(day, length)).padStart(2, '0')}`;
}

const instants = new Map<string, number>();

function keptInstant(zone: string, day: string, time: string): number {
  const name = `${zone} ${day} ${time}`;
  const known = instants.get(name);
  if (known !== undefined) return known;
  if (instants.size >= INSTANTS_KEPT_MAX) instants.clear();
  const at = instantOf(zone, day, time);
  instants.set(name, at);
  return at;
}
