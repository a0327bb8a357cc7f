/** Asking a pending person to confirm: the request for a mail, and its data. */
import type { Queryable } from '../../db/database.ts';
import { lockUntilCommit } from '../../db/lock.ts';
import { sendConfirmationJob } from '../../jobs/audience-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { emailKey } from '../../lib/text.ts';
import type { Context } from '../context.ts';
import { openConfirmation, type ConfirmationRequest } from './confirmation-store.ts';
import { insertConsentEvent, type ConsentEntry, type SubscriberKey } from './subscriber-store.ts';
import type { Subscriber } from './subscriber.ts';

/** Confirmation mails per address and day, over all lists: nobody gets many. */
export const CONFIRMATIONS_PER_DAY_MAX = 3;

/** Writes to the consent history that a person is asked, and enqueues the mail; it is sent when the transaction commits. */
export async function sendConfirmation(
  db: Queryable,
  person: Subscriber,
  by: Omit<ConsentEntry, 'status'>,
): Promise<void> {
  const { customerId, listId, id } = person;
  // One request per address at a time, so that each sees those before it.
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
 * The data of the confirmation mail; undefined when none is to be sent: the person is not pending, the address is suppressed, or
 * was asked too often in the day before.
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
