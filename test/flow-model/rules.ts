/**
 * The rules of flows, one function each, as the decisions say them (D70 to D92): the reference asks them and nothing else. A test replaces each
 * by a wrong one and sees that histories notice it. No code of the product is used.
 */
import { daysLater, firstInstant, shownAt, weekday } from './local-clock.ts';
import { TEMPLATES } from './flow-data.ts';
import { CALL_RULES } from './call-rules.ts';
import { HOLDING_RULES } from './holding-rules.ts';
import { MOVE_RULES } from './move-rules.ts';
import { PAUSE_RULES } from './pause-rules.ts';
import type {
  AskedAct,
  CopyNode,
  Duration,
  EntryData,
  FrequencyCap,
  MailNode,
  MailQuestion,
  NodeData,
  Payload,
  PersonThere,
  Question,
  QuietHours,
  TextQuestion,
  TimedTrigger,
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
  readonly isSuppressed: boolean;
}

/** Answers whether a mail of the run was opened or clicked. */
export type MailAnswer = (kind: 'opened' | 'clicked', question: MailQuestion) => boolean;

interface Within {
  readonly from: number;
  readonly until: number;
}

/** Opens and clicks count only after so long: until then they may turn out to be a machine's. */
export const SETTLED_MS = 5_000;

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

/** Values of an event, or of what the run began with. */
function isInPayload({ path, text, number, isPresent }: NonNullable<Question['payload']>, payload: Payload): boolean {
  const value = payload[path];
  if (isPresent !== undefined) return (value !== undefined) === isPresent;
  if (text) return isText(String(value ?? ''), text);
  const amount = value === undefined || value === '' ? Number.NaN : Number(value);
  if (number?.gte !== undefined) return amount >= number.gte;
  return amount < (number?.lt ?? 0);
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
  leavesBy({ status, isSuppressed }: Reader, hasUnsubscribed: boolean): string | undefined {
    if (status === 'deleted') return 'deleted';
    if (hasUnsubscribed) return undefined;
    if (status !== 'subscribed') return status;
    return isSuppressed ? 'suppressed' : undefined;
  },
  /** D80: the same where nothing would move the person any more. */
  leavesParked(reason: string): string | undefined {
    return reason;
  },
  /** D80: why a person gets no mail now. A goodbye is for who has just left. */
  noMail({ status, isSuppressed }: Reader, { isGoodbye }: MailNode): string | undefined {
    if (status !== 'subscribed' && !(status === 'unsubscribed' && isGoodbye === true)) return status;
    return isSuppressed ? 'suppressed' : undefined;
  },
  /** D81: not the same mail within so many days. */
  isTooSoon(last: number | undefined, now: number, { notAgainWithinDays: days }: MailNode): boolean {
    return days !== undefined && last !== undefined && last >= now - days * DAY_MS;
  },
  /** D81: each time that the run comes to the node is a mail of its own. */
  passOf(times: number): number {
    return times;
  },
  /** D82: transactional mail is exempt from quiet hours and caps. */
  isHeldBack({ templateUid }: MailNode): boolean {
    return TEMPLATES[templateUid] !== 'transactional';
  },
  /** D82: when the quiet hours of this clock end; undefined: there are none now. */
  quietEnd({ from, to }: QuietHours, zone: string, now: number): number | undefined {
    const today = shownAt(zone, now).slice(0, DAY);
    const time = shownAt(zone, now).slice(DAY + 1);
    const isOverNight = from > to;
    if (!(isOverNight ? time >= from || time < to : time >= from && time < to)) return undefined;
    return RULES.instantOf(zone, isOverNight && time >= from ? daysLater(today, 1) : today, to);
  },
  /** D82: spread over the first hour after them, which the product draws. */
  isSpread(at: number, end: number): boolean {
    return at >= end && at < end + HOUR_MS;
  },
  /** D82: when the cap allows the next message; undefined: now. Who has left gets the goodbye in any case. */
  capEnd(
    { messages, days }: FrequencyCap,
    { others, status }: { readonly others: readonly number[]; readonly status: string },
    now: number,
  ): number | undefined {
    const counted = others.filter((at) => at > now - days * DAY_MS && at <= now);
    const place = counted.at(-messages);
    return place === undefined || status !== 'subscribed' ? undefined : place + days * DAY_MS;
  },
  /** D82: what would wait for longer, from the arrival on, is not sent; an hour more is allowed. */
  mayWaitForCap(
    { holdDays }: Pick<FrequencyCap, 'holdDays'>,
    { since, until }: { readonly since: number; readonly until: number },
  ): boolean {
    return until <= since + holdDays * DAY_MS + HOUR_MS;
  },
  /** D77: by its name, its values, and the key of the entry where that is asked for. */
  isEvent(
    { name, where = [], sameKey = false }: Extract<AskedAct, { type: 'event' }>,
    event: { readonly name: string; readonly payload: Payload },
    { key, keyOf }: { readonly key: string; keyOf(payload: Payload): string },
  ): boolean {
    const isAll = where.every((one) => isInPayload(one, event.payload));
    return event.name === name && isAll && (!sameKey || keyOf(event.payload) === key);
  },
  /** D78: who clicked has opened; machines count only when asked for. */
  isAct(
    kind: 'opened' | 'clicked',
    act: { readonly type: 'opened' | 'clicked'; readonly isMachine: boolean },
    machines: boolean,
  ): boolean {
    return (kind === 'opened' || act.type === 'clicked') && (machines || !act.isMachine);
  },
  /** D78: the last mail that this node sent in the run. */
  isOfPass(pass: number, last: number): boolean {
    return pass === last;
  },
  /** D77: from the arrival or the entry on, to the end of the wait. */
  isWithin(at: number, { from, until }: Within): boolean {
    return at >= from && at < until;
  },
  /** D77: from when events count. */
  countsFrom(from: 'arrival' | 'entry', { since, enteredAt }: { since: number; enteredAt: number }): number {
    return from === 'entry' ? enteredAt : since;
  },
  /** D79: goals before exits. */
  waysOut<Way>(goals: readonly Way[], exits: readonly Way[]): readonly (readonly ['goal' | 'exit', Way])[] {
    return [...goals.map((way) => ['goal', way] as const), ...exits.map((way) => ['exit', way] as const)];
  },
  /** D79: they are judged again before each mail. */
  isJudgedBeforeMail: true,
  /** D76: a changed date or zone moves the wake. */
  movesWake(node: UntilNode, fields: ReadonlySet<string>): boolean {
    return (node.field !== undefined && fields.has(node.field)) || fields.has('ZONE');
  },
  /** D76: the days on which dates and timetables fire. `own`: of the person's field. */
  isSlot(trigger: TimedTrigger, day: string, own: string | undefined): boolean {
    if (trigger.type === 'specific_date') return day === trigger.date;
    if (trigger.type === 'weekly') return trigger.weekdays.includes(weekday(day));
    // The last day of a month that is shorter.
    if (trigger.type === 'monthly')
      return (
        Number(day.slice(-2)) === trigger.day ||
        (Number(day.slice(-2)) < trigger.day && daysLater(day, 1).endsWith('-01'))
      );
    if (own === undefined) return false;
    const shift = RULES.shift(trigger);
    if (trigger.yearly !== true) return day === daysLater(own, shift);
    const first = Number(own.slice(0, 4)) + (trigger.notInFirstYear === true ? 1 : 0);
    const year = Number(day.slice(0, 4));
    return [year - 1, year, year + 1].some(
      (one) => one >= first && daysLater(RULES.anniversary(own, one), shift) === day,
    );
  },
  /** D75: each day fires once, whatever the person's clock shows. */
  hasFired(day: string, last: string): boolean {
    return day <= last;
  },
  /** D76: a changed date or zone moves the next time. */
  movesSlot(trigger: TimedTrigger, fields: ReadonlySet<string>): boolean {
    return (trigger.type === 'date_field' && fields.has(trigger.field)) || fields.has('ZONE');
  },
  /** D84: a new version with the same trigger goes on as it was; activated, it begins anew. */
  triggerGoesOn(isAnew: boolean): boolean {
    return !isAnew;
  },
  /** D98: who is not copied, and why. */
  copyRefusal({ status }: Reader, there: PersonThere | undefined): string | undefined {
    if (status !== 'subscribed') return 'not_subscribed';
    return there?.status === 'unsubscribed' ? 'unsubscribed_there' : undefined;
  },
  /** D98: what becomes of who is there already. */
  merged(there: PersonThere, own: Omit<PersonThere, 'status'>, onConflict: CopyNode['onConflict']): PersonThere {
    if (onConflict === 'keep') return there;
    const tags = own.tags.reduce((all, tag) => RULES.withTag(all, tag), there.tags);
    const [first, second] = onConflict === 'overwrite' ? [own.level, there.level] : [there.level, own.level];
    return { ...there, tags, level: first === '' ? second : first };
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
  shift({ before, after }: Pick<UntilNode, 'before' | 'after'>): number {
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
  isTrue(question: Question, reader: Reader, payload: Payload, mails: MailAnswer): boolean {
    const inner = (one: Question) => RULES.isTrue(one, reader, payload, mails);
    if (question.all) return question.all.every(inner);
    if (question.any) return question.any.some(inner);
    if (question.none) return !question.none.some(inner);
    if (question.payload) return isInPayload(question.payload, payload);
    if (question.opened) return mails('opened', question.opened);
    if (question.clicked) return mails('clicked', question.clicked);
    return RULES.isPerson(question.person ?? {}, reader);
  },
  /** About the person as they are now. */
  isPerson({ field, tags }: NonNullable<Question['person']>, reader: Reader): boolean {
    if (field) return isText(reader.fields[field.tag] ?? '', field.text);
    const own = reader.tags.map(fold);
    if (tags?.hasAny) return tags.hasAny.some((tag) => own.includes(fold(tag)));
    return !(tags?.hasNone ?? []).some((tag) => own.includes(fold(tag)));
  },
  /** D83: so often a person may come to a node again. */
  mayPass(times: number, max: number): boolean {
    return times <= max;
  },
  /** D84: who is inside finishes on the version of the entry. */
  versionOf(own: number, _published: number): number {
    return own;
  },
  ...CALL_RULES,
  ...HOLDING_RULES,
  ...MOVE_RULES,
  ...PAUSE_RULES,
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

/** When a wait for an event gives up: days are days of the calendar, at the same time of day. */
export function eventWaitEnd(
  rules: Rules,
  given: Duration,
  { since, zone }: { readonly since: number; readonly zone: string },
): number {
  const days = daysOf(given);
  if (days === undefined) return since + rules.elapsed(given);
  const shown = shownAt(zone, since);
  return rules.instantOf(zone, daysLater(shown.slice(0, DAY), days), shown.slice(DAY + 1));
}

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
