/** Writes of a person who joins several lists of one customer at once: one statement for all of them. */
import { row, sql, typed, type Queryable, type RowOf, type Sql } from '../../db/database.ts';
import type { SubscriberStatus } from './subscriber-fields.ts';
import {
  CONSENT_EVENT_ROW,
  lockByAddress,
  PENDING_UNTIL,
  type ConsentEntry,
  type ConsentEvent,
} from './subscriber-store.ts';

export interface ChoosingAddress {
  readonly customerId: bigint;
  /** The list of the page. */
  readonly listId: bigint;
  readonly emailKey: string;
}

/** For a list `l`: whether a person on the pages of this list may choose it. Customers that are disabled offer nothing. */
export function isOffered(listId: bigint): Sql {
  return sql`(l.show_in_preferences OR l.id = ${listId})
  AND EXISTS (SELECT 1 FROM customer c WHERE c.id = l.customer_id AND c.status = 'active')`;
}

const OFFERED_LIST_ROW = row({
  id: 'bigint',
  /** Null: the address is not on the list. */
  status: typed<SubscriberStatus>('text?'),
});
export type OfferedList = RowOf<typeof OFFERED_LIST_ROW>;

/**
 * Those of the lists that are offered, by name. They cannot be deleted before the transaction ends, and nobody else changes the
 * person.
 */
export async function holdOffered(
  db: Queryable,
  { customerId, listId, emailKey }: ChoosingAddress,
  listIds: readonly bigint[],
): Promise<OfferedList[]> {
  const held = await db.query(
    { id: 'bigint' },
    sql`SELECT l.id FROM mail_list l
         WHERE l.customer_id = ${customerId} AND l.id = ANY (${[...listIds]}::bigint[]) AND ${isOffered(listId)}
         ORDER BY l.id FOR KEY SHARE OF l`,
    'audience.hold_offered_lists',
  );
  await lockByAddress(db, customerId, emailKey);
  return db.query(
    OFFERED_LIST_ROW,
    sql`SELECT l.id, s.status FROM mail_list l
          LEFT JOIN subscriber s ON s.customer_id = l.customer_id AND s.email_key = ${emailKey} AND s.list_id = l.id
         WHERE l.customer_id = ${customerId} AND l.id = ANY (${held.map(({ id }) => id)}::bigint[])
         ORDER BY lower(l.name), l.id`,
    'audience.offered_lists',
  );
}

/** How often the address was asked to confirm in the last day: by this customer, and mails by any. */
export async function confirmationsOfDay(
  db: Queryable,
  { customerId, emailKey }: ChoosingAddress,
  digest: Buffer,
): Promise<number> {
  const [day] = await db.query(
    { count: 'int' },
    sql`SELECT greatest(
          (SELECT count(*) FROM subscriber s JOIN consent_event e
               ON e.customer_id = s.customer_id AND e.list_id = s.list_id AND e.subscriber_id = s.id
            WHERE s.customer_id = ${customerId} AND s.email_key = ${emailKey} AND e.status = 'pending' AND e.at > now() - interval '1 day'),
          (SELECT count(*) FROM hot.confirmation_mail WHERE address_digest = ${digest} AND at > now() - interval '1 day'))::int AS count`,
    'audience.confirmations_of_day',
  );
  return day?.count ?? 0;
}

export interface JoiningPerson extends ChoosingAddress {
  readonly email: string;
  readonly ipAddress: string | null;
  readonly source: ConsentEntry['source'];
}

/** Puts the address on lists that it is not on, pending, with the fields' default values. */
export async function insertPending(
  db: Queryable,
  { customerId, email, emailKey, ipAddress, source }: JoiningPerson,
  listIds: readonly bigint[],
): Promise<void> {
  await db.execute(
    sql`INSERT INTO subscriber (customer_id, list_id, email, email_key, status, source, ip_address, fields, tags, pending_until)
        SELECT ${customerId}, l.id, ${email}, ${emailKey}, 'pending', ${source}, ${ipAddress},
               coalesce((SELECT jsonb_object_agg(f.tag, f.default_value) FROM list_field f
                          WHERE f.customer_id = ${customerId} AND f.list_id = l.id AND btrim(f.default_value) <> ''), '{}'), '{}', ${PENDING_UNTIL}
          FROM unnest(${[...listIds]}::bigint[]) AS l (id) ORDER BY l.id
        ON CONFLICT (customer_id, email_key, list_id) DO NOTHING`,
    'audience.insert_pending',
  );
}

/** Makes the address pending on these lists, except where it is subscribed, and writes its history. */
export function askPeople(
  db: Queryable,
  { customerId, emailKey, ipAddress, source }: JoiningPerson,
  listIds: readonly bigint[],
): Promise<ConsentEvent[]> {
  return db.query(
    CONSENT_EVENT_ROW,
    sql`
    WITH asked AS (
      UPDATE subscriber s SET status = 'pending', pending_until = ${PENDING_UNTIL}, updated_at = now()
       WHERE s.customer_id = ${customerId} AND s.email_key = ${emailKey} AND s.list_id = ANY (${[...listIds]}::bigint[]) AND s.status <> 'subscribed'
      RETURNING s.customer_id, s.list_id, s.id)
    INSERT INTO consent_event (customer_id, list_id, subscriber_id, status, source, ip_address)
    SELECT customer_id, list_id, id, 'pending', ${source}, ${ipAddress} FROM asked ORDER BY list_id
    RETURNING customer_id AS "customerId", list_id AS "listId", subscriber_id AS id, id AS "eventId"`,
    'audience.ask_people',
  );
}
