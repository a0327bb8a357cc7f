/** Removes a person from a list, with the history of consent. The ledger of past campaigns keeps what was sent. */
import { inTransaction, type Context } from '../context.ts';
import { findSubscriber } from './find-subscriber.ts';
import { subscriberNotFound } from './subscriber-errors.ts';
import { eraseSubscriber } from './subscriber-store.ts';
import type { Subscriber, SubscriberRef } from './subscriber.ts';

/** Deletes the caller's subscriber and returns it. Throws NotFoundError, ForeignResourceError. */
export async function deleteSubscriber(ctx: Context, ref: SubscriberRef): Promise<Subscriber> {
  const subscriber = await findSubscriber(ctx, ref);
  return inTransaction(ctx, async ({ db }) => {
    if (!(await eraseSubscriber(db, subscriber))) throw subscriberNotFound();
    return subscriber;
  });
}
