/**
 * Writes of subscribers, their history and the tags a list knows. One row at a time; bulk has its own ways.
 *
 * Everything that writes people takes its locks in this order (docs/decisions/0352), so that there is no deadlock:
 *  1. the list (`mail_list`), by transactions that add or erase people or change an address
 *  2. existing people (`subscriber`), by ascending id; also the holder of an address that another person is to get
 *  3. new addresses: the unique index blocks a second writer of the same one
 *  4. counters of the list (`hot.list_counter`, `hot.subscriber_block`), which triggers lock at the end of each statement
 *     that adds, deletes or changes a status
 *  5. tags of the list (`list_tag`), by key; then the import
 */
import { join, sql, row, type Queryable, type Sql, type Transaction } from '../../db/database.ts';
import { assignments, insertion, selectList, columnsOf } from '../../db/fields.ts';
import { emailKey } from '../../lib/text.ts';
import { lockCountersOf } from './list-counter-store.ts';
import type { MailList } from './list-fields.ts';
import {
  newSubscriberFields,
  subscriberColumns,
  subscriberFields,
  type SubscriberStatus,
} from './subscriber-fields.ts';
import { CONFIRMATION_DAYS, tagKey, type ConsentSource, type Subscriber } from './subscriber.ts';
import { ofCustomer } from './suppression-store.ts';

export const SUBSCRIBER_ROW = columnsOf(subscriberColumns);

export const SUBSCRIBER_KEY_ROW = row({
  id: 'bigint',
  customerId: 'bigint',
  listId: 'bigint',
});

export const SUBSCRIBER_COLUMNS = selectList(subscriberColumns, 's');

/**
 * The end of a SELECT from `subscriber s` in a LATERAL of its own: the person with this id. Only the primary key has this order. While the planner's
 * statistics do not know the customer it expects one row by the index of addresses, too, and read all of the customer's people for each id.
 */
export function withId({
  customerId,
  listId,
  id,
}: {
  readonly customerId: bigint;
  readonly listId: bigint | Sql;
  readonly id: Sql;
}): Sql {
  return sql`s.customer_id = ${customerId} AND s.list_id = ${listId} AND s.id BETWEEN ${id} AND ${id} ORDER BY s.id LIMIT 1`;
}

// Whole seconds, like in the link; rounded up, so that a link is never older than its request.
export const PENDING_UNTIL = sql`date_trunc('second', now()) + interval '1 second' + make_interval(days => ${CONFIRMATION_DAYS})`;

export interface NewSubscriber {
  readonly email: string;
  readonly status: SubscriberStatus;
  readonly source: ConsentSource;
  readonly ipAddress: string | null;
  readonly fields: Readonly<Record<string, string>>;
  readonly tags: readonly string[];
}

/** What the transaction does to people from now on lets nobody into automations (D72). */
export async function startNoFlows(tx: Transaction): Promise<void> {
  await tx.execute(sql`SELECT set_config('mailwright.run_automations', 'off', true)`);
}

/** Stores a subscriber; undefined when the address is on the list already. */
export async function insertSubscriber(
  db: Queryable,
  list: MailList,
  person: NewSubscriber,
): Promise<Subscriber | undefined> {
  const values = {
    ...{ ...person, customerId: list.customerId, listId: list.id, emailKey: emailKey(person.email) },
    pendingUntil: person.status === 'pending' ? PENDING_UNTIL : null,
  };
  const [row] = await db.query(
    SUBSCRIBER_ROW,
    sql`
    INSERT INTO subscriber AS s ${insertion(newSubscriberFields, values)}
    ON CONFLICT (customer_id, email_key, list_id) DO NOTHING
    RETURNING ${SUBSCRIBER_COLUMNS}`,
  );
  return row;
}

/** The subscriber as it is now, locked until the transaction ends; undefined when it is gone. */
export async function lockSubscriber(
  db: Queryable,
  { customerId, listId, id }: SubscriberKey,
): Promise<Subscriber | undefined> {
  const [row] = await db.query(
    SUBSCRIBER_ROW,
    sql`SELECT ${SUBSCRIBER_COLUMNS} FROM subscriber s
         WHERE customer_id = ${customerId} AND list_id = ${listId} AND id = ${id} FOR UPDATE`,
    'audience.lock_subscriber',
  );
  return row;
}

/**
 * The same before the person's address is changed. The holder of the new address is locked, too: the unique index waits for
 * writers of that row, and they must not wait for us.
 */
export async function lockForNewAddress(
  db: Queryable,
  key: SubscriberKey,
  newEmailKey: string,
): Promise<Subscriber | undefined> {
  const [holder] = await db.query(
    { id: 'bigint' },
    sql`SELECT id FROM subscriber
         WHERE customer_id = ${key.customerId} AND email_key = ${newEmailKey} AND list_id = ${key.listId}`,
  );
  // The other one first if its id is lower.
  if (holder && holder.id < key.id) await lockSubscriber(db, { ...key, id: holder.id });
  const locked = await lockSubscriber(db, key);
  if (holder && holder.id > key.id) await lockSubscriber(db, { ...key, id: holder.id });
  return locked;
}

export type SubscriberKey = Pick<Subscriber, 'customerId' | 'listId' | 'id'>;

/** A change of consent in the history of a person. */
export interface ConsentEvent extends SubscriberKey {
  readonly eventId: bigint;
}

export interface SubscriberChange {
  readonly email: string;
  readonly status: SubscriberStatus;
  readonly fields: Readonly<Record<string, string>>;
  readonly tags: readonly string[];
}

/** Writes a locked subscriber; `asked`: a confirmation mail is sent and its time starts again. */
export async function writeSubscriber(
  db: Queryable,
  key: SubscriberKey,
  change: SubscriberChange,
  asked = false,
): Promise<Subscriber> {
  const kept = change.status === 'pending' ? undefined : null;
  const values = { ...change, emailKey: emailKey(change.email), pendingUntil: asked ? PENDING_UNTIL : kept };
  const [row] = await db.query(
    SUBSCRIBER_ROW,
    sql`
    UPDATE subscriber AS s SET ${join([sql`updated_at = now()`, ...assignments(subscriberFields, values)])}
     WHERE customer_id = ${key.customerId} AND list_id = ${key.listId} AND id = ${key.id}
    RETURNING ${SUBSCRIBER_COLUMNS}`,
  );
  if (!row) throw new Error('A locked subscriber is gone.');
  return row;
}

export const CONSENT_EVENT_ROW = row({ customerId: 'bigint', listId: 'bigint', id: 'bigint', eventId: 'bigint' });

/**
 * Unsubscribes people of one customer, locked before, and writes their history. Answers those who were not unsubscribed yet. Who
 * is of a deleted list stays as it is until it is erased.
 */
export async function unsubscribePeople(
  db: Queryable,
  people: readonly SubscriberKey[],
  { source, ipAddress }: Omit<ConsentEntry, 'status'>,
): Promise<ConsentEvent[]> {
  const [first] = people;
  if (!first) return [];
  const { customerId } = first;
  const lists = people.map(({ listId }) => listId);
  const ids = people.map(({ id }) => id);
  await lockCountersOf(db, customerId, lists);
  return db.query(
    CONSENT_EVENT_ROW,
    sql`
    WITH p AS MATERIALIZED (
      SELECT k.list_id, k.id, s.email_key FROM unnest(${lists}::bigint[], ${ids}::bigint[]) AS k (list_id, id)
       CROSS JOIN LATERAL (SELECT s.email_key FROM subscriber s WHERE ${withId({ customerId, listId: sql`k.list_id`, id: sql`k.id` })}) s),
    ended AS (
      UPDATE subscriber s SET status = 'unsubscribed', pending_until = NULL, updated_at = now()
        FROM p
       WHERE s.customer_id = ${customerId} AND s.list_id = ANY (${[...new Set(lists)]}::bigint[]) AND s.id = ANY (${ids}::bigint[])
         AND s.email_key = ANY (ARRAY(SELECT p.email_key FROM p)) AND s.list_id = p.list_id AND s.id = p.id AND s.status <> 'unsubscribed'
         AND EXISTS (SELECT 1 FROM mail_list l WHERE l.customer_id = s.customer_id AND l.id = s.list_id)
      RETURNING s.customer_id, s.list_id, s.id)
    INSERT INTO consent_event (customer_id, list_id, subscriber_id, status, source, ip_address)
    SELECT customer_id, list_id, id, 'unsubscribed', ${source}, ${ipAddress} FROM ended ORDER BY list_id
    RETURNING customer_id AS "customerId", list_id AS "listId", subscriber_id AS id, id AS "eventId"`,
    'audience.unsubscribe_people',
  );
}

/** Adds an event to a person's consent history; returns its id. */
export async function insertConsentEvent(db: Queryable, key: SubscriberKey, event: ConsentEntry): Promise<bigint> {
  const [row] = await db.query(
    { id: 'bigint' },
    sql`INSERT INTO consent_event (customer_id, list_id, subscriber_id, status, source, ip_address)
        VALUES (${key.customerId}, ${key.listId}, ${key.id}, ${event.status}, ${event.source}, ${event.ipAddress})
        RETURNING id`,
    'audience.insert_consent_event',
  );
  if (!row) throw new Error('An inserted event of consent came back empty.');
  return row.id;
}

export interface ConsentEntry {
  readonly status: SubscriberStatus;
  readonly source: ConsentSource;
  readonly ipAddress: string | null;
}

/** Adds the tags to the list's tags; the first spelling stays. */
export async function rememberTags(
  db: Queryable,
  list: Pick<MailList, 'customerId' | 'id'>,
  tags: readonly string[],
): Promise<void> {
  if (tags.length === 0) return;
  // In the same order everywhere, so that two writers never wait for each other.
  const byKey = tags.map((name) => ({ name, key: tagKey(name) })).sort((a, b) => (a.key < b.key ? -1 : 1));
  await db.execute(sql`
    INSERT INTO list_tag (customer_id, list_id, name_key, name)
    SELECT ${list.customerId}, ${list.id}, key, name
      FROM unnest(${byKey.map(({ key }) => key)}::text[], ${byKey.map(({ name }) => name)}::text[]) AS t (key, name)
    ON CONFLICT DO NOTHING`);
}

/** Erases a subscriber, its history and its opens and clicks. Returns whether it existed. */
export async function eraseSubscriber(db: Queryable, { customerId, listId, id }: SubscriberKey): Promise<boolean> {
  const erased = await db.execute(
    sql`DELETE FROM subscriber WHERE customer_id = ${customerId} AND list_id = ${listId} AND id = ${id}`,
  );
  await db.execute(
    sql`DELETE FROM consent_event WHERE customer_id = ${customerId} AND list_id = ${listId} AND subscriber_id = ${id}`,
  );
  await db.execute(sql`
    WITH gone AS (
      DELETE FROM hot.subscriber_activity WHERE customer_id = ${customerId} AND list_id = ${listId} AND subscriber_id = ${id}
      RETURNING opened_at, clicked_at)
    UPDATE hot.list_counter c
       SET openers = c.openers - (gone.opened_at IS NOT NULL)::int, clickers = c.clickers - (gone.clicked_at IS NOT NULL)::int
      FROM gone WHERE c.customer_id = ${customerId} AND c.list_id = ${listId}`);
  return erased === 1;
}

/** All subscribers with this address on a list of the customer, or of all customers, locked until the transaction ends. */
export function lockByAddress(db: Queryable, customerId: bigint, emailKey: string): Promise<SubscriberKey[]> {
  return db.query(
    SUBSCRIBER_KEY_ROW,
    sql`SELECT customer_id AS "customerId", list_id AS "listId", id FROM subscriber
         WHERE ${ofCustomer(customerId)} AND email_key = ${emailKey} ORDER BY customer_id, list_id FOR UPDATE`,
  );
}
