/** Withdraws a person's consent: the row stays on the list, and no marketing mail is sent to it any more. */
import { inTransaction, type Context } from '../context.ts';
import { findSubscriber } from './find-subscriber.ts';
import { afterUnsubscribe } from './mails/person-mail.ts';
import { subscriberNotFound } from './subscriber-errors.ts';
import { insertConsentEvent, lockSubscriber, writeSubscriber, type SubscriberKey } from './subscriber-store.ts';
import type { ConsentSource, Subscriber, SubscriberRef } from './subscriber.ts';

/** Unsubscribes the caller's subscriber; repeating it changes nothing. Throws NotFoundError, ForeignResourceError. */
export async function unsubscribeSubscriber(ctx: Context, ref: SubscriberRef): Promise<Subscriber> {
  const found = await findSubscriber(ctx, ref);
  const outcome = await unsubscribePerson(ctx, found, 'api');
  if (!outcome) throw subscriberNotFound();
  return outcome.subscriber;
}

export interface UnsubscribeOutcome {
  readonly subscriber: Subscriber;
  /** False when the person was unsubscribed already. */
  readonly changed: boolean;
}

/**
 * Unsubscribes by key, for entry points that know the person by a signed link and not by a token; undefined when the person is
 * gone. Repeating it changes nothing.
 */
export async function unsubscribePerson(
  ctx: Context,
  key: SubscriberKey,
  source: ConsentSource,
): Promise<UnsubscribeOutcome | undefined> {
  return inTransaction(ctx, async ({ db }) => {
    const subscriber = await lockSubscriber(db, key);
    if (!subscriber) return undefined;
    if (subscriber.status === 'unsubscribed') return { subscriber, changed: false };
    const unsubscribed = await writeSubscriber(db, subscriber, { ...subscriber, status: 'unsubscribed' });
    const entry = { status: 'unsubscribed', source, ipAddress: ctx.ipAddress } as const;
    await afterUnsubscribe(db, subscriber, await insertConsentEvent(db, subscriber, entry));
    return { subscriber: unsubscribed, changed: true };
  });
}
