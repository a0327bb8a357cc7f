/** Writes and reads of the event record. */
import { row, sql, typed, type Queryable } from '../db/database.ts';
import type { Happening, NewEvent, RecordedEvent } from './event-kinds.ts';

/** Records events in one statement. `db` is the transaction in which they happen: they exist exactly when it commits. */
export async function recordEvents(db: Queryable, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  await db.execute(
    sql`INSERT INTO hot.event (kind, customer_id, object_uid, data)
        SELECT e.kind, e.customer_id, e.object_uid, e.data
          FROM unnest(${events.map(({ kind }) => kind)}::text[], ${events.map(({ customerId }) => customerId)}::bigint[],
                      ${events.map(({ objectUid }) => objectUid)}::text[],
                      ${events.map(({ data }) => JSON.stringify(data))}::jsonb[])
               WITH ORDINALITY AS e (kind, customer_id, object_uid, data, no)
         ORDER BY e.no`,
    'events.record',
  );
}

const EVENT_ROW = row({
  id: 'bigint',
  /** Whoever writes an event gives it the data of its kind: the types of `recordEvents`, and the triggers, by their tests. */
  happening: typed<Happening>('json'),
  customerId: 'bigint?',
  objectUid: 'text',
  happenedAt: 'timestamptz',
});

/** Events after the id `after` up to the id `upTo`, in the order of their ids. */
export async function readEvents(
  db: Queryable,
  { after, upTo, max }: { readonly after: bigint; readonly upTo: bigint; readonly max: number },
): Promise<readonly RecordedEvent[]> {
  const rows = await db.query(
    EVENT_ROW,
    sql`SELECT id, jsonb_build_object('kind', kind, 'data', data) AS happening, customer_id AS "customerId", object_uid AS "objectUid", happened_at AS "happenedAt"
          FROM hot.event WHERE id > ${after} AND id <= ${upTo} ORDER BY id LIMIT ${max}`,
    'events.read',
  );
  return rows.map(({ happening, ...event }) => ({ ...event, ...happening }));
}

/** The highest id given so far, as an expression. */
export const LAST_EVENT_ID = sql`(SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM hot.event_id_seq)`;

/** The same. Also to events of transactions that are still open or were rolled back. */
export async function lastEventId(db: Queryable): Promise<bigint> {
  const [last] = await db.query({ id: 'bigint' }, sql`SELECT ${LAST_EVENT_ID} AS id`, 'events.last_id');
  return last?.id ?? 0n;
}

/** Locks of transactions that have taken the id of an event and are still open (`hot.next_event_id`). */
function writesEvents(sequence: string) {
  return sql`l.locktype = 'advisory' AND l.classid = ${sequence}::text::regclass AND l.objsubid = 2
    AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())`;
}

const EVENT_IDS = 'hot.event_id_seq';

/** The transactions that may still write events with ids given so far, by their names in this database server. */
export async function openWriters(db: Queryable, sequence = EVENT_IDS): Promise<readonly string[]> {
  const rows = await db.query(
    { transaction: 'text' },
    sql`SELECT DISTINCT l.virtualtransaction AS transaction FROM pg_locks l WHERE ${writesEvents(sequence)}`,
    'events.open_writers',
  );
  return rows.map(({ transaction }) => transaction);
}

/** Whether all these transactions have ended. PostgreSQL ends a lock after what was written is visible. */
export async function haveEnded(
  db: Queryable,
  writers: readonly string[],
  openNow: (db: Queryable) => Promise<readonly string[]> = openWriters,
): Promise<boolean> {
  const open = await openNow(db);
  return !writers.some((writer) => open.includes(writer));
}

/** Of the transactions that write events, the one that has been open for longest. */
export async function oldestWriter(db: Queryable) {
  const [oldest] = await db.query(
    { pid: 'int', application: 'text', seconds: 'float8' },
    sql`SELECT a.pid, coalesce(a.application_name, '') AS application,
               coalesce(extract(epoch FROM clock_timestamp() - a.xact_start), 0)::float8 AS seconds
          FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE ${writesEvents(EVENT_IDS)} ORDER BY a.xact_start LIMIT 1`,
  );
  return oldest;
}

/**
 * Deletes at most `max` of the oldest events that happened more than `days` ago and that every follower has read, except those
 * that are cut off. Returns how many.
 */
export function deleteOldEvents(db: Queryable, { days, max }: { days: number; max: number }): Promise<number> {
  return db.execute(sql`
    DELETE FROM hot.event WHERE id = ANY (ARRAY(
      SELECT id FROM (SELECT id, happened_at FROM hot.event ORDER BY id LIMIT ${max}) oldest
       WHERE happened_at < now() - make_interval(days => ${days}::int)
         AND id <= coalesce((SELECT min(position) FROM hot.event_follower WHERE cut_off_at IS NULL), id)))`);
}
