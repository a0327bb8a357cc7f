/** Confirmation mails: their data, and how many went to an address (hot.confirmation_mail). */
import { sql, typed, row, type Queryable } from '../../db/database.ts';
import type { ListContact } from './list-fields.ts';
import { CONTACT_OBJECT } from './list-store.ts';
import type { SubscriberKey } from './subscriber-store.ts';

export interface ConfirmationRequest extends SubscriberKey {
  readonly email: string;
  /** When the link expires, in whole seconds. */
  readonly pendingUntil: Date;
  readonly customerUid: string;
  readonly listUid: string;
  readonly listName: string;
  readonly fromEmail: string;
  readonly fromName: string;
  readonly contact: ListContact;
}

const OPEN_CONFIRMATION_ROW = row({
  email: 'text',
  pendingUntil: 'timestamptz',
  customerUid: 'text',
  listUid: 'text',
  listName: 'text',
  fromEmail: 'text',
  fromName: 'text',
  contact: typed<ListContact>('json'),
  id: 'bigint',
  customerId: 'bigint',
  listId: 'bigint',
  asked: 'int',
});

/** The data of the mail while the person is pending and not suppressed, and how often they were asked in the day before. */
export async function openConfirmation(
  db: Queryable,
  { customerId, listId, id, eventId }: SubscriberKey & { readonly eventId: bigint },
): Promise<(ConfirmationRequest & { readonly asked: number }) | undefined> {
  const [row] = await db.query(
    OPEN_CONFIRMATION_ROW,
    sql`
    SELECT s.customer_id AS "customerId", s.list_id AS "listId", s.id, s.email, s.pending_until AS "pendingUntil",
           u.uid AS "customerUid", l.uid AS "listUid", l.name AS "listName", l.from_email AS "fromEmail",
           l.from_name AS "fromName", ${CONTACT_OBJECT} AS contact,
           (SELECT count(*)::int FROM subscriber o JOIN consent_event e
               ON e.customer_id = o.customer_id AND e.list_id = o.list_id AND e.subscriber_id = o.id
             WHERE o.customer_id = s.customer_id AND o.email_key = s.email_key
               AND e.status = 'pending' AND e.id <= ${eventId} AND e.at > asking.at - interval '1 day') AS asked
      FROM subscriber s
      JOIN consent_event asking ON asking.customer_id = s.customer_id AND asking.list_id = s.list_id
       AND asking.subscriber_id = s.id AND asking.id = ${eventId}
      JOIN customer u ON u.id = s.customer_id
      JOIN mail_list l ON l.customer_id = s.customer_id AND l.id = s.list_id
      JOIN list_contact c ON c.customer_id = s.customer_id AND c.list_id = s.list_id
     WHERE s.customer_id = ${customerId} AND s.list_id = ${listId} AND s.id = ${id}
       AND s.status = 'pending' AND s.pending_until > now()
       AND NOT EXISTS (SELECT 1 FROM suppression x WHERE x.customer_id IN (s.customer_id, 0) AND x.email_key = s.email_key)`,
  );
  return row;
}

/** Mails of the last day to the address, of all customers, without the one that this event causes. */
export async function otherConfirmationMails(db: Queryable, digest: Buffer, eventId: bigint): Promise<number> {
  const [others] = await db.query(
    { count: 'int' },
    sql`
      SELECT count(*)::int AS count FROM hot.confirmation_mail
       WHERE address_digest = ${digest} AND event_id <> ${eventId} AND at > now() - interval '1 day'`,
  );
  return others?.count ?? 0;
}

export async function insertConfirmationMail(db: Queryable, digest: Buffer, eventId: bigint): Promise<void> {
  await db.execute(sql`
      INSERT INTO hot.confirmation_mail (address_digest, event_id) VALUES (${digest}, ${eventId}) ON CONFLICT DO NOTHING`);
}

/** Deletes rows older than a day. */
export async function deleteOldConfirmationMails(db: Queryable): Promise<void> {
  await db.execute(sql`DELETE FROM hot.confirmation_mail WHERE at < now() - interval '1 day'`);
}
