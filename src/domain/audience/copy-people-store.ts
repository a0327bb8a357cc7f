/**
 * Statements that copy people of one list to another, a thousand at once. Locks as in subscriber-store.ts: the caller holds the other list;
 * people of both lists by ascending id, then new addresses, counters, tags.
 */
import { row, sql, typed, type Queryable, type RowOf } from '../../db/database.ts';
import { areThese, type PeopleOfList } from './people-store.ts';
import type { SubscriberStatus } from './subscriber-fields.ts';
import { PENDING_UNTIL, withId } from './subscriber-store.ts';
import type { ConsentSource } from './subscriber.ts';

const PAIR_ROW = row({ id: 'bigint', thereId: 'bigint?' });

/** Who of these people is on the other list, by the address. Inside it names no list: else the index of the list's members would do for the planner. */
async function pairsOf(db: Queryable, { customerId, listId, ids }: PeopleOfList, otherListId: bigint) {
  return db.query(
    PAIR_ROW,
    sql`SELECT s.id, t.id AS "thereId" FROM unnest(${[...ids]}::bigint[]) AS k (id)
         CROSS JOIN LATERAL (SELECT s.id, s.email_key FROM subscriber s WHERE ${withId({ customerId, listId, id: sql`k.id` })}) s
          LEFT JOIN LATERAL (
            SELECT a.id FROM (SELECT t.id, t.list_id FROM subscriber t WHERE t.customer_id = ${customerId} AND t.email_key = s.email_key OFFSET 0) a
             WHERE a.list_id = ${otherListId}) t ON true`,
    'audience.pairs_of_people',
  );
}

const LOCKED_ROW = row({
  id: 'bigint',
  status: typed<SubscriberStatus>('text'),
  fields: typed<Readonly<Record<string, string>>>('json'),
  tags: 'text[]',
  /** Unsubscribed by a move to another list, and has not opted out since. */
  wasMoved: 'bool?',
});
export type LockedPerson = RowOf<typeof LOCKED_ROW>;

export interface PersonPair {
  readonly person: LockedPerson;
  /** The same address on the other list. */
  readonly there: LockedPerson | undefined;
}

/** These people and, with the same addresses, those of the other list, all locked until the transaction ends. */
export async function lockPairs(db: Queryable, people: PeopleOfList, otherListId: bigint): Promise<PersonPair[]> {
  const { customerId, listId } = people;
  const pairs = await pairsOf(db, people, otherListId);
  const keys = pairs
    .flatMap(({ id, thereId }) => [{ listId, id }, ...(thereId === null ? [] : [{ listId: otherListId, id: thereId }])])
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const locked = await db.query(
    LOCKED_ROW,
    sql`SELECT s.id, s.status, s.fields, s.tags,
               CASE WHEN s.status = 'unsubscribed' THEN (
                 SELECT e.source = 'move' FROM consent_event e
                  WHERE e.customer_id = s.customer_id AND e.list_id = s.list_id AND e.subscriber_id = s.id ORDER BY e.id DESC LIMIT 1) END AS "wasMoved"
          FROM unnest(${keys.map((one) => one.listId)}::bigint[], ${keys.map(({ id }) => id)}::bigint[]) AS k (list_id, id)
         CROSS JOIN LATERAL (SELECT s.* FROM subscriber s WHERE ${withId({ customerId, listId: sql`k.list_id`, id: sql`k.id` })} FOR NO KEY UPDATE) s`,
    'audience.lock_pairs',
  );
  const byId = new Map(locked.map((one) => [one.id, one]));
  return pairs.flatMap(({ id, thereId }) => {
    const person = byId.get(id);
    return person ? [{ person, there: thereId === null ? undefined : byId.get(thereId) }] : [];
  });
}

/** Ids for new people. */
export async function takeSubscriberIds(db: Queryable, count: number): Promise<readonly bigint[]> {
  const rows = await db.query(
    { id: 'bigint' },
    sql`SELECT nextval(pg_get_serial_sequence('subscriber', 'id')) AS id FROM generate_series(1, ${count}::int)`,
    'audience.take_subscriber_ids',
  );
  return rows.map(({ id }) => id);
}

export interface NewCopy {
  readonly id: bigint;
  readonly personId: bigint;
  readonly fields: Readonly<Record<string, string>>;
}

/** Adds copies of locked people to the other list. Answers how many: others came to it by another transaction meanwhile. */
export function insertCopies(
  db: Queryable,
  { customerId, listId, toListId, status }: CopyingLists & { readonly status: SubscriberStatus },
  copies: readonly NewCopy[],
): Promise<number> {
  const rows = copies.map(({ id, personId, fields }) => ({ id: String(id), person: String(personId), fields }));
  return db.execute(
    sql`INSERT INTO subscriber (customer_id, list_id, id, email, email_key, status, source, fields, tags, pending_until,
                                verification, verification_reasons, verified_at, verified_by)
        SELECT s.customer_id, ${toListId}, p.id, s.email, s.email_key, ${status}, 'flow', p.fields, s.tags,
               CASE WHEN ${status} = 'pending' THEN ${PENDING_UNTIL} END, s.verification, s.verification_reasons, s.verified_at, s.verified_by
          FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS p (id bigint, person bigint, fields jsonb)
         CROSS JOIN LATERAL (SELECT s.* FROM subscriber s WHERE ${withId({ customerId, listId, id: sql`p.person` })}) s
         ORDER BY s.email_key
        ON CONFLICT (customer_id, email_key, list_id) DO NOTHING`,
    'audience.insert_copies',
  );
}

export interface CopyingLists {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly toListId: bigint;
}

export interface ChangedCopy {
  readonly id: bigint;
  readonly status: SubscriberStatus;
  readonly fields: Readonly<Record<string, string>>;
  readonly tags: readonly string[];
}

/** Writes locked people of the other list. */
export async function updateCopies(
  db: Queryable,
  { customerId, toListId }: CopyingLists,
  changed: readonly ChangedCopy[],
): Promise<void> {
  if (changed.length === 0) return;
  const rows = changed.map(({ id, ...one }) => ({ id: String(id), ...one }));
  await db.execute(
    sql`WITH p AS MATERIALIZED (
          SELECT c.*, s.email_key FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS c (id bigint, status text, fields jsonb, tags text[])
           CROSS JOIN LATERAL (SELECT s.email_key FROM subscriber s WHERE ${withId({ customerId, listId: toListId, id: sql`c.id` })}) s)
        UPDATE subscriber s SET status = p.status, fields = p.fields, tags = p.tags, updated_at = now() FROM p
         WHERE ${areThese({ customerId, listId: toListId, ids: changed.map(({ id }) => id) })} AND s.id = p.id`,
    'audience.update_copies',
  );
}

const CONSENT_ROW = row({ id: 'bigint', eventId: 'bigint' });

/** Adds an event to the consent history of each of these people. */
export async function insertConsentEvents(
  db: Queryable,
  { customerId, listId, ids }: PeopleOfList,
  { status, source }: { readonly status: SubscriberStatus; readonly source: ConsentSource },
) {
  if (ids.length === 0) return [];
  const rows = await db.query(
    CONSENT_ROW,
    sql`INSERT INTO consent_event (customer_id, list_id, subscriber_id, status, source)
        SELECT ${customerId}, ${listId}, p.id, ${status}, ${source} FROM unnest(${[...ids]}::bigint[]) AS p (id) ORDER BY p.id
        RETURNING subscriber_id AS id, id AS "eventId"`,
    'audience.insert_consent_events',
  );
  return rows.map((one) => ({ ...one, customerId, listId }));
}
