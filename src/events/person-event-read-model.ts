/** Reads of what happens to people. */
import { row, sql, typed, type Queryable } from '../db/database.ts';
import { openWriters } from './event-store.ts';
import type { ListOfPeople } from './person-event-store.ts';
import {
  PERSON_EVENT_KINDS,
  personEventKind,
  type PersonEvent,
  type PersonEventData,
  type PersonEventKind,
} from './person-event.ts';

const EVENT_ROW = row({
  id: 'bigint',
  personId: 'bigint',
  at: 'timestamptz',
  recordedAt: 'timestamptz',
  kind: 'smallint',
  depth: 'smallint',
  startsFlows: 'bool',
  name: 'text?',
  data: typed<PersonEventData | null>('json?'),
});
const EVENT_COLUMNS = sql`e.id, e.person_id AS "personId", e.at, e.recorded_at AS "recordedAt", e.kind, e.depth, e.starts_flows AS "startsFlows", e.name, e.data`;

export interface PersonEventRange {
  /** The id of the last one that was read. */
  readonly after: bigint;
  /** When that was; months before are not read. */
  readonly since: Date;
  /** Of the last one that may be read (`lastPersonEventId`). */
  readonly upTo: bigint;
  readonly max: number;
}

/** What happened on a list, in the order of the ids. */
export async function readPersonEvents(
  db: Queryable,
  { customerId, listId }: ListOfPeople,
  { after, since, upTo, max }: PersonEventRange,
): Promise<PersonEvent[]> {
  const rows = await db.query(
    EVENT_ROW,
    sql`SELECT ${EVENT_COLUMNS} FROM hot.person_event e
         WHERE e.customer_id = ${customerId} AND e.list_id = ${listId} AND e.id > ${after} AND e.id <= ${upTo}
           AND e.recorded_on >= (${since}::timestamptz AT TIME ZONE 'UTC')::date - 1
         ORDER BY e.id LIMIT ${max}`,
    'person_events.read',
  );
  return rows.map((one) => ({ ...one, kind: personEventKind(one.kind) }));
}

/** The highest id given so far, as an expression. */
export const LAST_PERSON_EVENT_ID = sql`(SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM hot.person_event_id_seq)`;

/** The same. Also to events of transactions that are still open or were rolled back. */
export async function lastPersonEventId(db: Queryable): Promise<bigint> {
  const [last] = await db.query({ id: 'bigint' }, sql`SELECT ${LAST_PERSON_EVENT_ID} AS id`, 'person_events.last_id');
  return last?.id ?? 0n;
}

export interface EventsOfPeople extends ListOfPeople {
  readonly ids: readonly bigint[];
  readonly since: Date;
  readonly kinds: readonly PersonEventKind[];
  /** Of events from outside. */
  readonly name: string | null;
}

/** What happened to these people since then, of some kinds, in the order of the ids. */
export async function eventsOfPeople(
  db: Queryable,
  { customerId, listId, ids, since, kinds, name }: EventsOfPeople,
): Promise<PersonEvent[]> {
  const numbers = kinds.map((kind) => PERSON_EVENT_KINDS[kind]);
  const rows = await db.query(
    EVENT_ROW,
    sql`SELECT ${EVENT_COLUMNS} FROM hot.person_event e
         WHERE e.customer_id = ${customerId} AND e.person_id = ANY (${[...ids]}::bigint[]) AND e.at >= ${since} AND e.list_id = ${listId}
           AND e.kind = ANY (${numbers}::smallint[]) AND (${name}::text IS NULL OR e.name = ${name}) ORDER BY e.id`,
    'person_events.of_people',
  );
  return rows.map((one) => ({ ...one, kind: personEventKind(one.kind) }));
}

/** The transactions that may still write events with ids given so far. */
export function openPersonEventWriters(db: Queryable): Promise<readonly string[]> {
  return openWriters(db, 'hot.person_event_id_seq');
}
