/** Asking a pending person to confirm: the request for a mail, and what the mail needs to know. */
import { sql, type Queryable } from '../../db/database.ts';
import { lockUntilCommit } from '../../db/lock.ts';
import { sendConfirmationJob } from '../../jobs/audience-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { emailKey } from '../../lib/text.ts';
import type { Context } from '../context.ts';
import type { ListContact } from './list-fields.ts';
import { CONTACT_OBJECT } from './list-store.ts';
import { insertConsentEvent, type ConsentEntry, type SubscriberKey } from './subscriber-store.ts';
import type { Subscriber } from './subscriber.ts';

/** Confirmation mails an address gets in a day, however often and to however many lists it is added: nobody is bombed. */
export const CONFIRMATIONS_PER_DAY_MAX = 3;

export interface ConfirmationRequest extends SubscriberKey {
  readonly email: string;
  /** When the link stops working: whole seconds. */
  readonly pendingUntil: Date;
  readonly customerUid: string;
  readonly listUid: string;
  readonly listName: string;
  readonly fromEmail: string;
  readonly fromName: string;
  readonly contact: ListContact;
}

/** Writes into the history that a person is asked, and enqueues the mail; it goes when the transaction commits. */
export async function sendConfirmation(
  db: Queryable,
  person: Subscriber,
  by: Omit<ConsentEntry, 'status'>,
): Promise<void> {
  const { customerId, listId, id } = person;
  // One asking of an address after the other: whoever counts those before it must see them all.
  await lockUntilCommit(db, `asking:${customerId}:${emailKey(person.email)}`);
  const eventId = await insertConsentEvent(db, person, { ...by, status: 'pending' });
  const payload = {
    customerId: String(customerId),
    listId: String(listId),
    subscriberId: String(id),
    eventId: String(eventId),
  };
  await enqueue(db, sendConfirmationJob, payload);
}

/**
 * What the confirmation mail needs; undefined when none is to be sent (any more): nobody is pending, the address is
 * suppressed, or it had been asked too often in the day before this asking.
 */
export async function confirmationRequest(
  ctx: Context,
  { customerId, listId, id, eventId }: SubscriberKey & { readonly eventId: bigint },
): Promise<ConfirmationRequest | undefined> {
  const [row] = await ctx.db.query<ConfirmationRequest & { asked: number }>(sql`
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
       AND NOT EXISTS (SELECT 1 FROM suppression x WHERE x.customer_id IN (s.customer_id, 0) AND x.email_key = s.email_key)`);
  if (!row) return undefined;
  const { asked, ...request } = row;
  return asked > CONFIRMATIONS_PER_DAY_MAX ? undefined : request;
}
