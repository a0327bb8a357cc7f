/**
 * The set of people to whom something happened, so often and within so many days, by the recorded events of people. An event from outside is
 * found by its name in an index that has all that is asked for, in the order of people; kinds of events are read from the list's events, or
 * from those of the range of people. Like other sets a SELECT of `block` and `members`.
 */
import { empty, join, sql, type Sql } from '../../../db/database.ts';
import { PERSON_EVENT_KINDS } from '../../../events/person-event.ts';
import { fold } from './condition-read-model.ts';
import { daysBefore, inRange } from './people-set-read-model.ts';
import type { EventCondition, KindOfEvent, RuleScope } from './segment.ts';

/** Clocks of those who report events differ from ours by less: nothing is recorded on an earlier day than the one before it happened. */
const RECORDED_DAYS_BEFORE = 1;

/** The people of the condition, each block once. */
export function didEvents(condition: EventCondition, scope: RuleScope): Sql {
  const { atLeast = 1 } = condition;
  const events = sql`hot.person_event e WHERE ${isMeant(condition, scope)}`;
  const word = (id: Sql) => sql`${id} >> 6 AS no, bit_or(1::bigint << (63 - (${id} & 63))::integer) AS word`;
  const words =
    atLeast === 1
      ? sql`SELECT ${word(sql`e.person_id`)} FROM ${events} GROUP BY 1`
      : sql`SELECT ${word(sql`p.person_id`)}
              FROM (SELECT e.person_id FROM ${events} GROUP BY e.person_id HAVING count(*) >= ${atLeast}) p GROUP BY 1`;
  return sql`SELECT w.no >> 5 AS block, bit_or(hot.word_bits(w.no, w.word)) AS members FROM (${words}) w GROUP BY 1`;
}

function isMeant(condition: EventCondition, scope: RuleScope): Sql {
  const { customerId, listId, asOf, among } = scope;
  const { inLastDays } = condition;
  const from = inLastDays === undefined ? undefined : daysBefore(scope, inLastDays);
  // Months in which nothing of these days was recorded are not read.
  const since = from
    ? sql`AND e.at >= ${from}::timestamptz AND e.recorded_on >= (${from}::timestamptz AT TIME ZONE 'UTC')::date - ${RECORDED_DAYS_BEFORE}::integer`
    : empty;
  const what = 'event' in condition ? sql`e.name = ${condition.event}` : isKind(condition);
  return sql`e.customer_id = ${customerId} AND e.list_id = ${listId} ${inRange(sql`e.person_id`, scope)}
    ${among ? sql`AND e.person_id = ANY (${[...among]}::bigint[])` : empty} AND ${what} AND e.at <= ${asOf.toISOString()}::timestamptz ${since}`;
}

function isKind({ kind, tag, field }: KindOfEvent): Sql {
  const parts = [sql`e.kind = ${PERSON_EVENT_KINDS[kind]}`];
  if (kind === 'tagged') parts[0] = sql`e.kind IN (${PERSON_EVENT_KINDS.tagged}, ${PERSON_EVENT_KINDS.added})`;
  // Who comes to the list with tags gets them there.
  if (tag !== undefined) parts.push(hasTag(tag));
  else if (kind === 'tagged') parts.push(sql`coalesce(e.data ? 'tags', false)`);
  if (field !== undefined) parts.push(sql`coalesce(e.data -> 'fields' ? ${field}, false)`);
  return join(parts, ' AND ');
}

function hasTag(tag: string): Sql {
  return sql`EXISTS (SELECT FROM jsonb_array_elements_text(e.data -> 'tags') AS t (tag) WHERE hot.fold(t.tag) = ${fold(tag)})`;
}
