/** Unsubscribes of which a list's owner is not notified yet (hot.unsubscribe_notice). */
import { sql, type Queryable } from '../../../db/database.ts';
import type { ListKey } from '../list-store.ts';
import type { SubscriberKey } from '../subscriber-store.ts';

/** A minute collects the unsubscribes after the same campaign. */
const GATHER_SECONDS = 60;
/** At most one mail an hour to an owner. */
const BETWEEN_SECONDS = 3_600;
/** Addresses in one mail; of more there is only the number. */
const NAMED_MAX = 50;
/** Notices per mail; the rest follows in the next. */
const NOTICES_MAX = 10_000;

export async function insertNotices(db: Queryable, people: readonly SubscriberKey[]): Promise<void> {
  await db.execute(
    sql`INSERT INTO hot.unsubscribe_notice (customer_id, list_id, subscriber_id)
        SELECT * FROM unnest(${people.map(({ customerId }) => customerId)}::bigint[], ${people.map(({ listId }) => listId)}::bigint[], ${people.map(({ id }) => id)}::bigint[])`,
    'audience.insert_notices',
  );
}

/** When the owners of these lists are to be notified, by the oldest notice of each; lists without one are left out. */
export function dueNotices(
  db: Queryable,
  customerId: bigint,
  listIds: readonly bigint[],
): Promise<{ listId: bigint; dueAt: Date }[]> {
  return db.query(
    { listId: 'bigint', dueAt: 'timestamptz' },
    sql`
    SELECT l.id AS "listId",
           greatest(now(), n.at + make_interval(secs => ${GATHER_SECONDS}), l.unsubscribes_notified_at + make_interval(secs => ${BETWEEN_SECONDS})) AS "dueAt"
      FROM mail_list l
     CROSS JOIN LATERAL (SELECT min(at) AS at FROM hot.unsubscribe_notice WHERE customer_id = l.customer_id AND list_id = l.id) n
     WHERE l.customer_id = ${customerId} AND l.id = ANY (${[...listIds]}::bigint[]) AND n.at IS NOT NULL`,
    'audience.due_notices',
  );
}

export interface WaitingNotices {
  /** The newest notice. */
  readonly lastId: bigint;
  /** How many people. */
  readonly count: number;
  /** The first of them. */
  readonly subscriberIds: readonly bigint[];
}

/** The notices of a list for one mail; undefined when there is none. */
export async function waitingNotices(db: Queryable, list: ListKey): Promise<WaitingNotices | undefined> {
  const [notices] = await db.query(
    { lastId: 'bigint?', count: 'int', subscriberIds: 'bigint[]?' },
    sql`
    WITH notice AS (
      SELECT n.id, n.subscriber_id FROM hot.unsubscribe_notice n
       WHERE n.customer_id = ${list.customerId} AND n.list_id = ${list.id} ORDER BY n.id LIMIT ${NOTICES_MAX})
    SELECT max(n.id) AS "lastId", count(DISTINCT n.subscriber_id)::int AS count,
           (SELECT array_agg(p.id ORDER BY p.id)
              FROM (SELECT DISTINCT subscriber_id AS id FROM notice ORDER BY 1 LIMIT ${NAMED_MAX}) p) AS "subscriberIds"
      FROM notice n`,
  );
  if (!notices?.lastId) return undefined;
  return { lastId: notices.lastId, count: notices.count, subscriberIds: notices.subscriberIds ?? [] };
}

/** The addresses of these people as they are now; who was erased is missing. */
export async function addressesOf(db: Queryable, list: ListKey, ids: readonly bigint[]): Promise<string[]> {
  const people = await db.query(
    { email: 'text' },
    sql`SELECT s.email FROM subscriber s
         WHERE s.customer_id = ${list.customerId} AND s.list_id = ${list.id} AND s.id = ANY (${[...ids]}::bigint[]) ORDER BY s.id`,
  );
  return people.map(({ email }) => email);
}

/** Deletes the notices up to the newest one in the mail. */
export async function deleteNotices(db: Queryable, { customerId, id }: ListKey, lastId: bigint): Promise<void> {
  await db.execute(
    sql`DELETE FROM hot.unsubscribe_notice WHERE customer_id = ${customerId} AND list_id = ${id} AND id <= ${lastId}`,
  );
}

/** Deletes the notices about this person. */
export async function deleteNoticesOf(db: Queryable, { customerId, listId, id }: SubscriberKey): Promise<void> {
  await db.execute(
    sql`DELETE FROM hot.unsubscribe_notice WHERE customer_id = ${customerId} AND list_id = ${listId} AND subscriber_id = ${id}`,
  );
}
