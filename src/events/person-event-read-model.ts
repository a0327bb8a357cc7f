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

/** Of the payloads of one read, as texts; the first event may be larger. */
const READ_BYTES_MAX = 8_000_000;

const READ_ROW = row({ ...EVENT_ROW, found: 'int' });

/** What happened on a list, in the order of the ids. `isAll`: there is no more in the range. */
export async function readPersonEvents(
  db: Queryable,
  { customerId, listId }: ListOfPeople,
  { after, since, upTo, max }: PersonEventRange,
): Promise<{ readonly events: readonly PersonEvent[]; readonly isAll: boolean }> {
  const rows = await db.query(
    READ_ROW,
    sql`SELECT ${EVENT_COLUMNS}, e.found FROM (
          SELECT e.*, (count(*) OVER ())::int AS found, sum(e.bytes) OVER (ORDER BY e.id) - e.bytes AS before FROM (
        SELECT e.*, CASE WHEN e.name IS NULL THEN 0 ELSE coalesce(octet_length(e.data::text), 0) END AS bytes FROM hot.person_event e
         WHERE e.customer_id = ${customerId} AND e.list_id = ${listId} AND e.id > ${after} AND e.id <= ${upTo}
           AND e.recorded_on >= (${since}::timestamptz AT TIME ZONE 'UTC')::date - 1
         ORDER BY e.id LIMIT ${max}) e) e
         WHERE e.before < ${READ_BYTES_MAX} ORDER BY e.id`,
    'person_events.read',
  );
  const found = rows[0]?.found ?? 0;
  const events = rows.map((one) => ({ ...one, kind: personEventKind(one.kind) }));
  return { events, isAll: found < max && rows.length === found };
}

/** The highest id given so far, as an expression. */
export const LAST_PERSON_EVENT_ID = sql`(SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM hot.person_event_id_seq)`;

/** The same. Also to events of transactions that are still open or were rolled back. */
export async function lastPersonEventId(db: Queryable): Promise<bigint> {
  const [last] = await db.query({ id: 'bigint' }, sql`SELECT ${LAST_PERSON_EVENT_ID} AS id`, 'person_events.last_id');
  return last?.id ?? 0n;
}

export interface Sought extends ListOfPeople {
  readonly kinds: readonly PersonEventKind[];
  /** Of events from outside. */
  readonly name: string | null;
  /** Else events come without. */
  readonly needsData: boolean;
}

export interface EventSearch {
  readonly personId: bigint;
  readonly from: Date;
  /** Only events recorded after this one. */
  readonly after: bigint;
  /** Null: without end. */
  readonly until: Date | null;
}

/** Rows of one read. */
const ROWS_AT_ONCE = 1_000;
/** With payloads of 64 KiB at most: some 8 MB. */
const PAYLOADS_AT_ONCE = 128;

const SOUGHT_ROW = row({ ...EVENT_ROW, no: 'int', exactAt: 'text' });

export interface Searching<Search extends EventSearch> {
  readonly searches: readonly Search[];
  readonly isIt: (event: PersonEvent, search: Search) => boolean;
}

/** For each search the first event, in the order of their times, of which `isIt` is true. */
export async function firstEvents<Search extends EventSearch>(
  db: Queryable,
  sought: Sought,
  searching: Searching<Search>,
): Promise<ReadonlyMap<Search, PersonEvent>> {
  const found = await foundEvents(db, sought, { ...searching, foundMax: 1 });
  return new Map([...found].flatMap(([search, [event]]) => (event ? [[search, event] as const] : [])));
}

/**
 * For each search the first so many events, in the order of their times, of which `isIt` is true. Reads a bounded number of events at once,
 * however many a person has, until `isOver`.
 */
export async function foundEvents<Search extends EventSearch>(
  db: Queryable,
  sought: Sought,
  {
    searches,
    isIt,
    foundMax,
    isOver,
  }: Searching<Search> & { readonly foundMax: number; readonly isOver?: () => boolean },
): Promise<ReadonlyMap<Search, readonly PersonEvent[]>> {
  const found = new Map<Search, PersonEvent[]>();
  if (sought.kinds.length === 0) return found;
  const max = sought.needsData && sought.name !== null ? PAYLOADS_AT_ONCE : ROWS_AT_ONCE;
  let open = searches.map((search) => ({ search, at: search.from.toISOString(), id: search.after }));
  while (open.length > 0 && isOver?.() !== true) {
    const now = open.slice(0, max);
    const each = Math.floor(max / now.length);
    const read = Map.groupBy(await nextEvents(db, sought, now, each), ({ no }) => no);
    const further = now.flatMap(({ search }, no) => {
      const events = read.get(no) ?? [];
      const hits = found.get(search) ?? [];
      for (const event of events) if (hits.length < foundMax && isIt(event, search)) hits.push(event);
      if (hits.length > 0) found.set(search, hits);
      const last = events.at(-1);
      return hits.length === foundMax || !last || events.length < each
        ? []
        : [{ search, at: last.exactAt, id: last.id }];
    });
    open = [...open.slice(max), ...further];
  }
  return found;
}

interface OpenSearch {
  readonly search: EventSearch;
  /** To the microsecond. */
  readonly at: string;
  readonly id: bigint;
}

async function nextEvents(db: Queryable, sought: Sought, open: readonly OpenSearch[], each: number) {
  const { customerId, listId, kinds, name, needsData } = sought;
  const numbers = kinds.map((kind) => PERSON_EVENT_KINDS[kind]);
  const rows = await db.query(
    SOUGHT_ROW,
    sql`SELECT (w.no - 1)::int AS no, e.id, e.person_id AS "personId", e.at, e.at::text AS "exactAt", e.recorded_at AS "recordedAt", e.kind, e.depth,
               e.starts_flows AS "startsFlows", e.name, CASE WHEN ${needsData} THEN e.data END AS data
          FROM unnest(${open.map(({ search }) => search.personId)}::bigint[], ${open.map(({ at }) => at)}::timestamptz[], ${open.map(({ id }) => id)}::bigint[],
                      ${open.map(({ search }) => search.after)}::bigint[], ${open.map(({ search }) => search.until)}::timestamptz[])
               WITH ORDINALITY AS w (person, at, id, after, until, no)
         CROSS JOIN LATERAL (
           SELECT e.* FROM hot.person_event e
            WHERE e.customer_id = ${customerId} AND e.person_id = w.person AND (e.at, e.id) > (w.at, w.id) AND e.id > w.after
              AND (w.until IS NULL OR e.at < w.until) AND e.list_id = ${listId}
              AND e.kind = ANY (${numbers}::smallint[]) AND (${name}::text IS NULL OR e.name = ${name}) ORDER BY e.at, e.id LIMIT ${each}) e
         ORDER BY w.no, e.at, e.id`,
    'person_events.first',
  );
  return rows.map((one) => ({ ...one, kind: personEventKind(one.kind) }));
}

/** The transactions that may still write events with ids given so far. */
export function openPersonEventWriters(db: Queryable): Promise<readonly string[]> {
  return openWriters(db, 'hot.person_event_id_seq');
}
