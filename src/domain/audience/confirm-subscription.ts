/**
 * The click on a confirmation link: `pending` or `unconfirmed` becomes `subscribed` (decision D17). The link is signed
 * and says until when it works; it works once: after the person subscribed or unsubscribed, a link of before is used up.
 */
import { databaseNow } from '../../db/now.ts';
import { emailKey } from '../../lib/text.ts';
import { inTransaction, type Context } from '../context.ts';
import { confirmationLink } from './consent-read-model.ts';
import { addressDigest, forgetErased } from './erasing/erased-person-store.ts';
import { afterConfirmation } from './mails/person-mail.ts';
import { insertConsentEvent, lockSubscriber, writeSubscriber, type SubscriberKey } from './subscriber-store.ts';
import type { Subscriber } from './subscriber.ts';

export interface ConfirmSubscriptionInput extends SubscriberKey {
  /** The end that the link was signed with. */
  readonly expiresAt: Date;
}

export type ConfirmationOutcome =
  | { readonly kind: 'confirmed' | 'already-subscribed'; readonly subscriber: Subscriber }
  | { readonly kind: 'expired' | 'used' | 'gone' };

/** Whether it is too late for a link that works until then, as far as a page needs to know that asks first. */
export async function isConfirmationLate(ctx: Context, expiresAt: Date): Promise<boolean> {
  return expiresAt <= (await databaseNow(ctx.db));
}

/** Confirms, and says what came of it. Doing it twice is harmless. Takes only what a signed link said. */
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
    // Somebody who was erased has come back by a click of its own.
    const digest = addressDigest(ctx.installation, emailKey(confirmed.email));
    await forgetErased(db, { customerId: key.customerId, digest });
    return { kind: 'confirmed', subscriber: confirmed };
  });
}
