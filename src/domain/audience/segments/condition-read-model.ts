/**
 * One condition about one value, as SQL that is true or false and never null. Texts are compared folded: by hot.fold in the
 * database and `fold` here, which give the same result. Parts of texts are searched by strpos and similar functions, not by LIKE:
 * a caller's text has no wildcards.
 */
import { join, sql, type Sql } from '../../../db/database.ts';
import { unreachable } from '../../../lib/errors.ts';
import type {
  EmailCondition,
  NumberCondition,
  OptionsCondition,
  RuleScope,
  TagsCondition,
  TextCondition,
  TimeCondition,
} from './segment.ts';

const DAY_MS = 86_400_000;
const LEAP_DAY = '02-29';
const DAY_BEFORE_LEAP_DAY = '02-28';

/** A text in the form in which texts are compared; the same as hot.fold. */
export function fold(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

const orFalse = (condition: Sql): Sql => sql`coalesce(${condition}, false)`;
const orTrue = (condition: Sql): Sql => sql`coalesce(${condition}, true)`;

/** For a text that may be null or empty, which is the same. */
export function compileText(value: Sql, condition: TextCondition): Sql {
  if ('isEmpty' in condition)
    return condition.isEmpty ? sql`coalesce(${value}, '') = ''` : sql`coalesce(${value}, '') <> ''`;
  return compileFolded(sql`hot.fold(nullif(${value}, ''))`, condition);
}

/** For the address. It is never null, and stored folded. */
export function compileEmail(condition: EmailCondition): Sql {
  if ('domain' in condition) return endsWith(sql`s.email_key`, `@${condition.domain}`);
  return compileFolded(sql`s.email_key`, condition);
}

type FoldedCondition = Exclude<TextCondition, { readonly isEmpty: boolean }>;

function compileFolded(value: Sql, condition: FoldedCondition): Sql {
  if ('is' in condition) return orFalse(sql`${value} = ${fold(condition.is)}`);
  if ('isNot' in condition) return orTrue(sql`${value} <> ${fold(condition.isNot)}`);
  if ('contains' in condition) return orFalse(contains(value, condition.contains));
  if ('notContains' in condition) return sql`NOT ${orFalse(contains(value, condition.notContains))}`;
  if ('startsWith' in condition) return orFalse(sql`starts_with(${value}, ${fold(condition.startsWith)})`);
  if ('endsWith' in condition) return orFalse(endsWith(value, fold(condition.endsWith)));
  if ('in' in condition) return orFalse(sql`${value} = ANY (${condition.in.map(fold)}::text[])`);
  if ('notIn' in condition) return orTrue(sql`${value} <> ALL (${condition.notIn.map(fold)}::text[])`);
  return unreachable(condition);
}

/** Whether the folded value contains this part. */
export function contains(value: Sql, part: string): Sql {
  return sql`strpos(${value}, ${fold(part)}) > 0`;
}

function endsWith(value: Sql, end: string): Sql {
  // Characters as the database counts them: code points.
  return sql`right(${value}, ${[...end].length}) = ${end}`;
}

/** For the text of a field with options: several are separated by commas. */
export function compileOptions(text: Sql, condition: OptionsCondition): Sql {
  if ('isEmpty' in condition) return compileText(text, condition);
  // Several choices are separated by commas; a single one may have a comma in it.
  const chosen = sql`array_prepend(hot.fold(${text}), regexp_split_to_array(hot.fold(${text}), '\\s*,\\s*'))`;
  if ('hasAny' in condition) return orFalse(sql`${chosen} && ${condition.hasAny.map(fold)}::text[]`);
  if ('hasAll' in condition) return orFalse(sql`${chosen} @> ${condition.hasAll.map(fold)}::text[]`);
  if ('hasNone' in condition) return sql`NOT ${orFalse(sql`${chosen} && ${condition.hasNone.map(fold)}::text[]`)}`;
  return unreachable(condition);
}

/** For a number that may be null. */
export function compileNumber(value: Sql, condition: NumberCondition): Sql {
  if ('isEmpty' in condition) return condition.isEmpty ? sql`${value} IS NULL` : sql`${value} IS NOT NULL`;
  if ('isNot' in condition) return orTrue(sql`${value} <> ${numeric(condition.isNot)}`);
  if ('between' in condition) {
    const { from, to } = condition.between;
    return orFalse(sql`${value} BETWEEN ${numeric(from)} AND ${numeric(to)}`);
  }
  if ('is' in condition) return orFalse(sql`${value} = ${numeric(condition.is)}`);
  if ('lt' in condition) return orFalse(sql`${value} < ${numeric(condition.lt)}`);
  if ('lte' in condition) return orFalse(sql`${value} <= ${numeric(condition.lte)}`);
  if ('gt' in condition) return orFalse(sql`${value} > ${numeric(condition.gt)}`);
  if ('gte' in condition) return orFalse(sql`${value} >= ${numeric(condition.gte)}`);
  return unreachable(condition);
}

/** By its shortest decimal notation, so that 0.1 is one tenth. */
function numeric(number: number): Sql {
  return sql`${String(number)}::numeric`;
}

/** For the time in a field's text; a text that is no time gives null. */
export function compileFieldTime(text: Sql, condition: TimeCondition, asOf: Date): Sql {
  const usual = compileTime(sql`hot.time_of(${text})`, condition, asOf);
  if (!('anniversaryWithinDays' in condition)) return usual;
  // A birthday is usually only a day: a comparison of its text excludes nearly everybody, without parsing a time.
  const days = monthDays(asOf, condition.anniversaryWithinDays);
  return sql`CASE WHEN octet_length(${text}) = 10
    THEN substr(${text}, 6, 5) = ANY (${days}::text[]) AND hot.time_of(${text}) IS NOT NULL ELSE ${usual} END`;
}

/** For a time that may be null. */
export function compileTime(value: Sql, condition: TimeCondition, asOf: Date): Sql {
  if ('isEmpty' in condition) return condition.isEmpty ? sql`${value} IS NULL` : sql`${value} IS NOT NULL`;
  if ('anniversaryWithinDays' in condition) {
    const days = monthDays(asOf, condition.anniversaryWithinDays);
    return orFalse(sql`to_char(${value} AT TIME ZONE 'UTC', 'MM-DD') = ANY (${days}::text[])`);
  }
  const [from, to] = boundsOf(condition, asOf);
  const bounds = [
    ...(from ? [sql`${value} ${from.included ? sql`>=` : sql`>`} ${from.at}::timestamptz`] : []),
    ...(to ? [sql`${value} ${to.included ? sql`<=` : sql`<`} ${to.at}::timestamptz`] : []),
  ];
  return orFalse(join(bounds, ' AND '));
}

interface Bound {
  /** ISO 8601. */
  readonly at: string;
  readonly included: boolean;
}

type BoundedTime = Exclude<TimeCondition, { readonly isEmpty: boolean } | { readonly anniversaryWithinDays: number }>;

function boundsOf(condition: BoundedTime, asOf: Date): readonly [Bound | undefined, Bound | undefined] {
  const including = (at: string): Bound => ({ at, included: true });
  const excluding = (at: string): Bound => ({ at, included: false });
  const now = asOf.toISOString();
  const inDays = (days: number) => new Date(asOf.getTime() + days * DAY_MS).toISOString();
  if ('before' in condition) return [undefined, excluding(condition.before)];
  if ('after' in condition) return [excluding(condition.after), undefined];
  if ('on' in condition) return [including(`${condition.on}T00:00:00Z`), excluding(dayAfter(condition.on))];
  if ('between' in condition) return [including(condition.between.from), including(condition.between.to)];
  if ('inLastDays' in condition) return [including(inDays(-condition.inLastDays)), including(now)];
  if ('inNextDays' in condition) return [including(now), including(inDays(condition.inNextDays))];
  if ('moreThanDaysAgo' in condition) return [undefined, excluding(inDays(-condition.moreThanDaysAgo))];
  if ('moreThanDaysAhead' in condition) return [excluding(inDays(condition.moreThanDaysAhead)), undefined];
  return unreachable(condition);
}

/** The midnight at the end of this day. After the last day of year 9999 comes a year that ISO 8601 writes with a sign. */
function dayAfter(day: string): string {
  return day === '9999-12-31' ? 'infinity' : new Date(Date.parse(`${day}T00:00:00Z`) + DAY_MS).toISOString();
}

/** `MM-DD` of today and of the following days. */
function monthDays(asOf: Date, daysAhead: number): string[] {
  const days = Array.from({ length: daysAhead + 1 }, (_, no) => new Date(asOf.getTime() + no * DAY_MS));
  const names = days.map((day) => day.toISOString().slice(5, 10));
  // In a year without 29 February, it is the 28th.
  const stands = days.some((day, no) => names[no] === DAY_BEFORE_LEAP_DAY && !isLeapYear(day.getUTCFullYear()));
  return [...new Set(stands ? [...names, LEAP_DAY] : names)];
}

function isLeapYear(year: number): boolean {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
}

/** The list of the tags: spellings are stored per list. */
type TagsOfList = Pick<RuleScope, 'customerId' | 'listId'>;

/** Tags are compared without case; a person without tags has none of them. */
export function compileTags(condition: TagsCondition, list: TagsOfList): Sql {
  if ('hasAny' in condition) return hasAny(condition.hasAny, list);
  if ('hasNone' in condition) return sql`NOT ${hasAny(condition.hasNone, list)}`;
  if ('hasAll' in condition)
    return join(
      [...new Set(condition.hasAll.map(fold))].map((tag) => hasAny([tag], list)),
      ' AND ',
    );
  return unreachable(condition);
}

/** By the spellings used on the list, which are read once: a person's tags are compared unchanged. */
function hasAny(tags: readonly string[], { customerId, listId }: TagsOfList): Sql {
  const meant = sql`ARRAY(SELECT t.tag FROM hot.tag_spelling t
    WHERE t.customer_id = ${customerId} AND t.list_id = ${listId} AND t.key = ANY (${tags.map(fold)}::text[]))`;
  // Most people have no tags. This also makes the condition more expensive for the planner than the one that excludes other
  // lists, so that it is checked after that.
  return sql`CASE WHEN cardinality(s.tags) > 0 THEN ${orFalse(sql`s.tags && ${meant}`)} ELSE false END`;
}
