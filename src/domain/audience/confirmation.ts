/** Asking a pending person to confirm: the request for a mail, and its data. */
import type { Queryable } from '../../db/database.ts';
import { lockUntilCommit } from '../../db/lock.ts';
import { emailKey } from '../../lib/text.ts';
import type { Context } from '../context.ts';
import { enqueueMessages } from '../messages/enqueue-messages.ts';
import { openConfirmation, type ConfirmationRequest } from './confirmation-store.ts';
import { messageOf } from './mails/person-message.ts';
import { insertConsentEvent, type ConsentEntry, type ConsentEvent } from './subscriber-store.ts';
import type { Subscriber } from './subscriber.ts';

/** Confirmation mails per address and day, over all lists: nobody gets many. */
export const CONFIRMATIONS_PER_DAY_MAX = 3;

/** Writes to the consent history that a person is asked, and enqueues the mail; it is sent when the transaction commits. */
export async function sendConfirmation(
  db: Queryable,
  person: Subscriber,
  by: Omit<ConsentEntry, 'status'>,
): Promise<void> {
  const { customerId, listId, id, email } = person;
  await lockAsking(db, customerId, emailKey(email));
  const eventId = await insertConsentEvent(db, person, { ...by, status: 'pending' });
  await enqueueConfirmations(db, [{ customerId, listId, id, eventId }]);
}

/** One request per address at a time, so that each sees those before it. */
export function lockAsking(db: Queryable, customerId: bigint, key: string): Promise<void> {
  return lockUntilCommit(db, `asking:${customerId}:${key}`);
}

/** Enqueues a mail for each of these events of one customer, by which people became pending. */
export async function enqueueConfirmations(db: Queryable, asked: readonly ConsentEvent[]): Promise<void> {
  await enqueueMessages(
    db,
    asked.map((person) => messageOf(person, { kind: 'confirmation', eventId: person.eventId })),
  );
}

/**
 * The data of the confirmation mail; undefined when none is to be sent: the person is not pending, the address is suppressed, or
 * was asked too often in the day before.
 */
export async function confirmationRequest(ctx: Context, key: ConsentEvent): Promise<ConfirmationRequest | undefined> {
  const row = await openConfirmation(ctx.db, key);
  if (!row) return undefined;
  const { asked, ...request } = row;
  return asked > CONFIRMATIONS_PER_DAY_MAX ? undefined : request;
}
