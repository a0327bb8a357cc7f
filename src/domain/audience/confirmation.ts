/** Asking a pending person to confirm: the request for a mail, and what the mail needs to know. */
import { sql, type Queryable } from '../../db/database.ts';
import { sendConfirmationJob } from '../../jobs/audience-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import type { Context } from '../context.ts';
import type { SubscriberKey } from './subscriber-store.ts';

/** Confirmation mails an address gets in a day, however often and to however many lists it is added: nobody is bombed. */
export const CONFIRMATIONS_PER_DAY_MAX = 3;

export interface ConfirmationRequest extends SubscriberKey {
  readonly email: string;
  /** When the link stops working: whole seconds. */
  readonly pendingUntil: Date;
  readonly listName: string;
  readonly fromEmail: string;
  readonly fromName: string;
  readonly company: string;
}

/** Enqueues the mail that carries the confirmation link; it goes when the transaction commits. */
export async function askForConfirmation(db: Queryable, { customerId, listId, id }: SubscriberKey): Promise<void> {
  const payload = { customerId: String(customerId), listId: String(listId), subscriberId: String(id) };
  await enqueue(db, sendConfirmationJob, payload);
}

/**
 * What the confirmation mail needs; undefined when none is to be sent (any more): nobody is pending, the address is
 * suppressed, or it was asked too often today.
 */
export async function confirmationRequest(ctx: Context, { customerId, listId, id }: SubscriberKey): Promise<ConfirmationRequest | undefined> {
  const [row] = await ctx.db.query<ConfirmationRequest & { asked: number }>(sql`
    SELECT s.customer_id AS "customerId", s.list_id AS "listId", s.id, s.email, s.pending_until AS "pendingUntil",
           l.name AS "listName", l.from_email AS "fromEmail", l.from_name AS "fromName", c.company,
           (SELECT count(*)::int FROM subscriber o JOIN consent_event e
               ON e.customer_id = o.customer_id AND e.list_id = o.list_id AND e.subscriber_id = o.id
             WHERE o.customer_id = s.customer_id AND o.email_key = s.email_key
               AND e.status = 'pending' AND e.at > now() - interval '1 day') AS asked
      FROM subscriber s
      JOIN mail_list l ON l.customer_id = s.customer_id AND l.id = s.list_id
      JOIN list_contact c ON c.customer_id = s.customer_id AND c.list_id = s.list_id
     WHERE s.customer_id = ${customerId} AND s.list_id = ${listId} AND s.id = ${id}
       AND s.status = 'pending' AND s.pending_until > now()
       AND NOT EXISTS (SELECT 1 FROM suppression x WHERE x.customer_id IN (s.customer_id, 0) AND x.email_key = s.email_key)`);
  if (!row) return undefined;
  const { asked, ...request } = row;
  return asked > CONFIRMATIONS_PER_DAY_MAX ? undefined : request;
}
