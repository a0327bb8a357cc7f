/**
 * The click on a confirmation link: `pending` or `unconfirmed` becomes `subscribed` (decision D17). The signed link contains its
 * expiry. It works once: after a later subscription or unsubscription, an older link is used up.
 */
import { databaseNow } from '../../db/now.ts';
import { emailKey } from '../../lib/text.ts';
import { inTransaction, type Context } from '../context.ts';
import { confirmationLink } from './consent-read-model.ts';
import { addressDigest, deleteErased } from './erasing/erased-person-store.ts';
import { afterConfirmation } from './mails/person-mail.ts';
import { insertConsentEvent, lockSubscriber, writeSubscriber, type SubscriberKey } from './subscriber-store.ts';
import type { Subscriber } from './subscriber.ts';

export interface ConfirmSubscriptionInput extends SubscriberKey {
  /** The expiry in the signed link. */
  readonly expiresAt: Date;
}

export type ConfirmationOutcome =
  | { readonly kind: 'confirmed' | 'already-subscribed'; readonly subscriber: Subscriber }
  | { readonly kind: 'expired' | 'used' | 'gone' };

/** Whether a link with this expiry is too late, for the page before the confirmation. */
export async function isConfirmationLate(ctx: Context, expiresAt: Date): Promise<boolean> {
  return expiresAt <= (await databaseNow(ctx.db));
}

/** Confirms, and returns the result. Repeating it is harmless. Takes only values of a signed link. */
export async function confirmSubscription(
  ctx: Context,
  { expiresAt, ...key }: ConfirmSubscriptionInput,
): Promise<ConfirmationOutcome> {
  return inTransaction(ctx, async ({ db }) => {
    const subscriber = await lockSubscriber(db, key);
    if (!subscriber) return { kind: 'gone' };
    if (subscriber.status === 'subscribed') return { kind: 'already-subscribed', subscriber };
    const link = await confirmationLink(db, key, expiresAt);
    if (subscriber.status === 'unsubscribed' || link.used) return { kind: 'used' };
    if (link.expired) return { kind: 'expired' };
    const confirmed = await writeSubscriber(db, key, { ...subscriber, status: 'subscribed' });
    const entry = { status: 'subscribed', source: 'confirmation', ipAddress: ctx.ipAddress } as const;
    await afterConfirmation(db, key, await insertConsentEvent(db, key, entry));
    // A person who was erased has come back by a click of their own.
    const digest = addressDigest(ctx.installation, emailKey(confirmed.email));
    await deleteErased(db, { customerId: key.customerId, digest });
    return { kind: 'confirmed', subscriber: confirmed };
  });
}
