/** Withdraws a person's consent: the row stays on the list, and no marketing mail is sent to it any more. */
import { emailKey, isEmailAddress } from '../../lib/text.ts';
import { inTransaction, viewerOf, type Context, type TransactionContext } from '../context.ts';
import { findSubscriber } from './find-subscriber.ts';
import { afterUnsubscribes } from './mails/person-mail.ts';
import { subscriberNotFound } from './subscriber-errors.ts';
import { subscribersOfAddress } from './subscriber-read-model.ts';
import {
  insertConsentEvent,
  lockByAddress,
  lockSubscriber,
  unsubscribePeople,
  writeSubscriber,
  type ConsentEvent,
  type SubscriberKey,
} from './subscriber-store.ts';
import type { ConsentSource, Subscriber, SubscriberRef } from './subscriber.ts';
import { undoAddress } from './undo-address.ts';
import { endUndoOf, endUndoOfPeople } from './undo-store.ts';

/** Unsubscribes the caller's subscriber; repeating it only ends an undo. Throws NotFoundError, ForeignResourceError. */
export async function unsubscribeSubscriber(ctx: Context, ref: SubscriberRef): Promise<Subscriber> {
  const found = await findSubscriber(ctx, ref);
  const outcome = await unsubscribePerson(ctx, found, 'api');
  if (!outcome) throw subscriberNotFound();
  return outcome.subscriber;
}

/**
 * Unsubscribes the caller's subscriber; an address without a list on every list of the customer: opting out needs no choice (D50).
 * Returns the subscribers by list, also those who were unsubscribed before. Throws NotFoundError `SUBSCRIBER_NOT_FOUND` or
 * `LIST_NOT_FOUND`, ForeignResourceError.
 */
export async function unsubscribeFromLists(ctx: Context, ref: SubscriberRef): Promise<Subscriber[]> {
  const address = ref.subscriber.trim();
  if (ref.listUid || !address.includes('@')) return [await unsubscribeSubscriber(ctx, ref)];
  if (!isEmailAddress(address)) throw subscriberNotFound();
  const person = { customerId: viewerOf(ctx).customerId, emailKey: emailKey(address), listId: undefined };
  return inTransaction(ctx, async (inner) => {
    await unsubscribeAddress(inner, person, 'api');
    const people = await subscribersOfAddress(inner.db, person);
    if (people.length === 0) throw subscriberNotFound();
    return people;
  });
}

/**
 * Unsubscribes an address from these lists of the customer, or from all of them, for entry points that know it by a signed link.
 * Answers what that ended. Repeating it only ends an undo.
 */
export async function unsubscribeAddress(
  ctx: Context,
  { customerId, emailKey: key, listIds }: LeavingAddress,
  source: ConsentSource,
): Promise<readonly ConsentEvent[]> {
  return inTransaction(ctx, async ({ db, ipAddress }) => {
    // All people before the counters of any list (subscriber-store.ts).
    const locked = await lockByAddress(db, customerId, key);
    const people = locked.filter(({ listId }) => listIds?.includes(listId) ?? true);
    await endUndoOfPeople(db, people, { source, ipAddress });
    const ended = await unsubscribePeople(db, people, { source, ipAddress });
    await afterUnsubscribes(db, ended);
    return ended;
  });
}

export interface LeavingAddress {
  readonly customerId: bigint;
  readonly emailKey: string;
  /** Undefined: all. */
  readonly listIds?: readonly bigint[] | undefined;
}

export interface UnsubscribeOutcome {
  readonly subscriber: Subscriber;
  /** False when the person was unsubscribed already. */
  readonly changed: boolean;
  /** The subscription that this ended, for `undoUnsubscribe`; undefined: the person was not subscribed. */
  readonly ended?: EndedSubscription | undefined;
}

export interface EndedSubscription extends SubscriberKey {
  /** The event in the person's consent history. */
  readonly eventId: bigint;
  /** The address that unsubscribed, as `undoAddress`. */
  readonly address: string;
}

/**
 * Unsubscribes by key, for entry points that know the person by a signed link and not by a token; undefined when the person is
 * gone. Repeating it only ends an undo.
 */
export async function unsubscribePerson(
  ctx: Context,
  key: SubscriberKey,
  source: ConsentSource,
): Promise<UnsubscribeOutcome | undefined> {
  return inTransaction(ctx, async (inner) => {
    const subscriber = await lockSubscriber(inner.db, key);
    return subscriber && withdraw(inner, subscriber, source);
  });
}

/** Of a locked subscriber. */
async function withdraw(
  { db, ipAddress, installation }: TransactionContext,
  subscriber: Subscriber,
  source: ConsentSource,
): Promise<UnsubscribeOutcome> {
  if (subscriber.status === 'unsubscribed') {
    await endUndoOf(db, subscriber, { source, ipAddress });
    return { subscriber, changed: false };
  }
  const unsubscribed = await writeSubscriber(db, subscriber, { ...subscriber, status: 'unsubscribed' });
  const entry = { status: 'unsubscribed', source, ipAddress } as const;
  const eventId = await insertConsentEvent(db, subscriber, entry);
  const { customerId, listId, id, email } = subscriber;
  await afterUnsubscribes(db, [{ customerId, listId, id, eventId }]);
  const ended = { customerId, listId, id, eventId, address: undoAddress(installation, email) };
  return { subscriber: unsubscribed, changed: true, ended: subscriber.status === 'subscribed' ? ended : undefined };
}
