/** Asking a pending person to confirm: the request for a mail, and what the mail needs to know. */
import type { Queryable } from '../../db/database.ts';
import { lockUntilCommit } from '../../db/lock.ts';
import { sendConfirmationJob } from '../../jobs/audience-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { emailKey } from '../../lib/text.ts';
import type { Context } from '../context.ts';
import { openConfirmation, type ConfirmationRequest } from './confirmation-store.ts';
import { insertConsentEvent, type ConsentEntry, type SubscriberKey } from './subscriber-store.ts';
import type { Subscriber } from './subscriber.ts';

/** Confirmation mails an address gets in a day, however often and to however many lists it is added: nobody is bombed. */
export const CONFIRMATIONS_PER_DAY_MAX = 3;

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
  key: SubscriberKey & { readonly eventId: bigint },
): Promise<ConfirmationRequest | undefined> {
  const row = await openConfirmation(ctx.db, key);
  if (!row) return undefined;
  const { asked, ...request } = row;
  return asked > CONFIRMATIONS_PER_DAY_MAX ? undefined : request;
}
