/**
 * The rules of flows, one function each, as the decisions say them (D70 to D92): the reference asks them and nothing else. A test replaces each
 * by a wrong one and sees that histories notice it. No code of the product is used.
 */
import { daysLater, firstInstant, shownAt, weekday } from './local-clock.ts';
import type {
  Duration,
  EntryData,
  NodeData,
  Payload,
  Question,
  TextQuestion,
  UntilNode,
  WaitNode,
} from './flow-data.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const DAY = 'YYYY-MM-DD'.length;

/** The last entry of a person (and key) into the flow. */
export interface LastEntry {
  readonly at: number;
  readonly hasEnded: boolean;
}

export interface Reader {
  readonly fields: Readonly<Record<string, string>>;
  readonly tags: readonly string[];
  readonly status: string;
}

const fold = (text: string): string => text.toLowerCase();

/** Compared without case; a missing value is an empty text. */
function isText(value: string, { is, isNot, contains, isEmpty }: TextQuestion): boolean {
  if (is !== undefined) return fold(value) === fold(is);
  if (isNot !== undefined) return fold(value) !== fold(isNot);
  if (contains !== undefined) return fold(value).includes(fold(contains));
  return (value === '') === isEmpty;
}

function daysOf({ days, weeks }: Duration): number | undefined {
  return days ?? (weeks === undefined ? undefined : 7 * weeks);
}

function anniversary(day: string, year: number): string {
  const isLeap = year % 4 === 0;
  const monthDay = day.slice('YYYY-'.length);
  return `${year}-${monthDay === '02-29' && !isLeap ? '02-28' : monthDay}`;
}

export const RULES = {
  /** D70: once, again so many days after the last entry, again after the end, or once for each key. */
  mayEnter(entry: EntryData, last: LastEntry | undefined, now: number): boolean {
    if (!last) return true;
    if (entry.mode === 'after_end') return last.hasEnded;
    if (entry.mode === 'after_days') return now - last.at >= entry.days * DAY_MS;
    return false;
  },
  /** D70: what a refused entry answers. */
  refusal(entry: EntryData): string {
    return { once: 'entered_before', per_key: 'key_entered', after_end: 'in_flow', after_days: 'too_soon' }[entry.mode];
  },
  /** D70: the key of the entry; a flow without keys has one for all. */
  keyOf(entry: EntryData, payload: Payload): string {
    return entry.mode === 'per_key' ? String(payload[entry.key] ?? '') : '';
  },
  /** D83: over 20 entries of one person in 24 hours are a loop. */
  isLoop(entries: readonly number[], now: number): boolean {
    return entries.filter((at) => at > now - DAY_MS).length >= 20;
  },
  /** D80: only who is on the list stays in a flow, unless the flow itself has unsubscribed them. */
  leavesBy({ status }: Reader, hasUnsubscribed: boolean): string | undefined {
    if (status === 'deleted') return 'deleted';
    return status === 'subscribed' || hasUnsubscribed ? undefined : status;
  },
  /** D75: the person's zone, else the list's. */
  zoneOf({ fields }: Reader, listZone: string): string {
    const own = fields['ZONE'] ?? '';
    return own.includes('/') ? own : listZone;
  },
  /** D75: in a gap the first instant after it, of a doubled hour the first occurrence. */
  instantOf: firstInstant,
  /** D74: minutes and hours are elapsed time. */
  elapsed({ hours = 0, minutes = 0 }: Duration): number {
    return hours * HOUR_MS + minutes * MINUTE_MS;
  },
  /** D74: a day of the wait's end is allowed if it is one of the weekdays and no holiday. */
  isAllowed({ weekdays, skipHolidays }: WaitNode, day: string, holidays: readonly string[]): boolean {
    return (weekdays?.includes(weekday(day)) ?? true) && !(skipHolidays === true && holidays.includes(day));
  },
  /** D74: days are days of the calendar, at the local hour, else at the time of day of the arrival. */
  timeOfDay({ at }: WaitNode, since: number, zone: string): string {
    return at ?? shownAt(zone, since).slice(DAY + 1);
  },
  /** D76: the day of the field; 29 February is 28 February in other years. */
  anniversary,
  /** D76: before or after the day of the field. */
  shift({ before, after }: UntilNode): number {
    return (daysOf(after ?? {}) ?? 0) - (daysOf(before ?? {}) ?? 0);
  },
  /** D76: an invalid date is no date. */
  dayOf(value: string | undefined): string | undefined {
    return value !== undefined && value !== '' && !Number.isNaN(Date.parse(value)) ? value.slice(0, DAY) : undefined;
  },
  /** D76: more than 24 hours late is skipped. */
  isLate(at: number, now: number): boolean {
    return now - at > DAY_MS;
  },
  /** D78: on fresh data. */
  isTrue(question: Question, reader: Reader, payload: Payload): boolean {
    const inner = (one: Question) => RULES.isTrue(one, reader, payload);
    if (question.all) return question.all.every(inner);
    if (question.any) return question.any.some(inner);
    if (question.none) return !question.none.some(inner);
    if (question.payload) return RULES.isInPayload(question.payload, payload);
    const { field, tags } = question.person ?? {};
    if (field) return isText(reader.fields[field.tag] ?? '', field.text);
    const own = reader.tags.map(fold);
    if (tags?.hasAny) return tags.hasAny.some((tag) => own.includes(fold(tag)));
    return !(tags?.hasNone ?? []).some((tag) => own.includes(fold(tag)));
  },
  /** D78: values of what the run began with. */
  isInPayload({ path, text, number, isPresent }: NonNullable<Question['payload']>, payload: Payload): boolean {
    const value = payload[path];
    if (isPresent !== undefined) return (value !== undefined) === isPresent;
    if (text) return isText(String(value ?? ''), text);
    const amount = value === undefined || value === '' ? Number.NaN : Number(value);
    if (number?.gte !== undefined) return amount >= number.gte;
    return amount < (number?.lt ?? 0);
  },
  /** D83: so often a person may come to a node again. */
  mayPass(times: number, max: number): boolean {
    return times <= max;
  },
  /** D84: who is inside finishes on the version of the entry. */
  versionOf(own: number, _published: number): number {
    return own;
  },
  /** D85: nobody moves in a flow that is paused. */
  isMoving(status: string): boolean {
    return status === 'active';
  },
  /** D88: due at the instant, not before. */
  isDue(wake: number, now: number): boolean {
    return wake <= now;
  },
  /** A tag stands once, in whatever case. */
  withTag(tags: readonly string[], tag: string): readonly string[] {
    return tags.some((one) => fold(one) === fold(tag)) ? tags : [...tags, tag];
  },
  withoutTag(tags: readonly string[], tag: string): readonly string[] {
    return tags.filter((one) => fold(one) !== fold(tag));
  },
  /** The variant is drawn by the product; it must be one of them. */
  isVariant(node: Extract<NodeData, { type: 'split' }>, port: string): boolean {
    return node.variants.some(({ name }) => port === `variant:${name}`);
  },
};
export type Rules = typeof RULES;

/** When a wait ends. */
export function waitEnd(
  rules: Rules,
  node: WaitNode,
  from: { readonly since: number; readonly zone: string },
  holidays: readonly string[],
): number {
  const { since, zone } = from;
  const days = daysOf(node.for);
  if (days === undefined) return since + rules.elapsed(node.for);
  let day = daysLater(shownAt(zone, since).slice(0, DAY), days);
  while (!rules.isAllowed(node, day, holidays)) day = daysLater(day, 1);
  return rules.instantOf(zone, day, rules.timeOfDay(node, since, zone));
}

/** When a wait for a date ends, or the port for who waits in vain. */
export function untilEnd(
  rules: Rules,
  node: UntilNode,
  { since, zone, value }: { readonly since: number; readonly zone: string; readonly value: string | undefined },
): number | 'no_date' | 'late' {
  const today = shownAt(zone, since).slice(0, DAY);
  if (node.weekdays) {
    let day = today;
    while (!node.weekdays.includes(weekday(day)) || rules.instantOf(zone, day, node.at) <= since)
      day = daysLater(day, 1);
    return rules.instantOf(zone, day, node.at);
  }
  const day = node.date ?? rules.dayOf(value);
  if (day === undefined) return 'no_date';
  if (node.yearly === true) {
    const year = Number(today.slice(0, 'YYYY'.length));
    const times = [year - 1, year, year + 1].map((one) =>
      rules.instantOf(zone, daysLater(rules.anniversary(day, one), rules.shift(node)), node.at),
    );
    return times.find((time) => time >= since) ?? 'no_date';
  }
  const at = rules.instantOf(zone, daysLater(day, rules.shift(node)), node.at);
  return rules.isLate(at, since) ? 'late' : at;
}
