/** How verbs find subscribers: by id, by address, for a mail, for the export of a list. */
import { empty, sql, row, typed, type Queryable, type RowOf } from '../../db/database.ts';
import type { ListKey } from './list-store.ts';
import type { SubscriberStatus } from './subscriber-fields.ts';
import { SUBSCRIBER_COLUMNS, SUBSCRIBER_ROW, SUBSCRIBER_KEY_ROW, type SubscriberKey } from './subscriber-store.ts';
import type { Subscriber } from './subscriber.ts';

/** Of any customer. The block says which lists have ids near this one: usually a single list. */
export async function subscriberById(db: Queryable, id: bigint): Promise<Subscriber | undefined> {
  const [row] = await db.query(
    SUBSCRIBER_ROW,
    sql`SELECT ${SUBSCRIBER_COLUMNS}
          FROM hot.subscriber_block b
          JOIN subscriber s ON s.customer_id = b.customer_id AND s.list_id = b.list_id AND s.id = ${id}::bigint
         WHERE b.block = ${id}::bigint >> 11`,
    'audience.find_subscriber_by_id',
  );
  return row;
}

export interface AddressOfCustomer {
  readonly customerId: bigint;
  readonly emailKey: string;
  /** Undefined: on any of the customer's lists. */
  readonly listId: bigint | undefined;
}

/** The customer's subscribers with this address, by list; without a limit all. */
export function subscribersOfAddress(
  db: Queryable,
  { customerId, emailKey, listId }: AddressOfCustomer,
  limit: number | null = null,
): Promise<Subscriber[]> {
  const onList = listId === undefined ? empty : sql`AND list_id = ${listId}`;
  // People of a deleted list exist until a job has erased them.
  return db.query(
    SUBSCRIBER_ROW,
    sql`
    SELECT ${SUBSCRIBER_COLUMNS} FROM subscriber s
     WHERE EXISTS (SELECT 1 FROM mail_list l WHERE l.customer_id = s.customer_id AND l.id = s.list_id)
       AND customer_id = ${customerId} AND email_key = ${emailKey} ${onList}
     ORDER BY list_id LIMIT ${limit}`,
  );
}

/** The subscriber with this address on the list. */
export async function memberWithAddress(
  db: Queryable,
  list: ListKey,
  emailKey: string,
): Promise<SubscriberKey | undefined> {
  const [found] = await db.query(
    SUBSCRIBER_KEY_ROW,
    sql`SELECT customer_id AS "customerId", list_id AS "listId", id FROM subscriber
         WHERE customer_id = ${list.customerId} AND email_key = ${emailKey} AND list_id = ${list.id}`,
  );
  return found;
}

const MAILABLE_PERSON_ROW = row({
  email: 'text',
  fields: typed<Readonly<Record<string, string>>>('json'),
  /** When the confirmation link expires. */
  pendingUntil: 'timestamptz?',
});
/** The data of a person for a mail. */
export type MailablePerson = RowOf<typeof MAILABLE_PERSON_ROW>;

/** The person, if they have this status and are not suppressed. */
export async function findMailable(
  db: Queryable,
  { customerId, listId, id }: SubscriberKey,
  status: SubscriberStatus,
): Promise<MailablePerson | undefined> {
  const [person] = await db.query(
    MAILABLE_PERSON_ROW,
    sql`
    SELECT s.email, s.fields, s.pending_until AS "pendingUntil" FROM subscriber s
     WHERE s.customer_id = ${customerId} AND s.list_id = ${listId} AND s.id = ${id} AND s.status = ${status}
       AND NOT EXISTS (SELECT 1 FROM suppression x WHERE x.customer_id IN (s.customer_id, 0) AND x.email_key = s.email_key)`,
  );
  return person;
}

const EXPORTED_PERSON_ROW = row({
  id: 'bigint',
  email: 'text',
  status: 'text',
  tags: 'text[]',
  fields: typed<Readonly<Record<string, string>>>('json'),
  source: 'text?',
  createdAt: 'text',
  updatedAt: 'text',
});
export type ExportedPerson = RowOf<typeof EXPORTED_PERSON_ROW>;

/** The next people of a list for its export, in the order of adding. */
export function peopleToExport(
  db: Queryable,
  list: ListKey,
  { afterId, limit }: { readonly afterId: bigint; readonly limit: number },
): Promise<ExportedPerson[]> {
  return db.query(
    EXPORTED_PERSON_ROW,
    sql`SELECT id, email, status, tags, fields, source, to_char(created_at, 'YYYY-MM-DD HH24:MI:SS') AS "createdAt",
               to_char(updated_at, 'YYYY-MM-DD HH24:MI:SS') AS "updatedAt"
          FROM subscriber WHERE customer_id = ${list.customerId} AND list_id = ${list.id} AND id > ${afterId}
         ORDER BY id LIMIT ${limit}`,
    'audience.export',
  );
}
