/** Asks a person on a list (again) for consent: `pending` and a confirmation mail, whatever the status was (D18). */
import { emailKey } from '../../lib/text.ts';
import { requireRunningPlan } from '../billing/plans/require-allowed.ts';
import { inTransaction, type Context } from '../context.ts';
import { sendConfirmation } from './confirmation.ts';
import { findSubscriber } from './find-subscriber.ts';
import { emailSuppressed, subscriberNotFound } from './subscriber-errors.ts';
import { lockSubscriber, writeSubscriber } from './subscriber-store.ts';
import type { Subscriber, SubscriberRef } from './subscriber.ts';
import { isSuppressed } from './suppression-store.ts';

/**
 * Makes the caller's subscriber pending and enqueues the mail. Throws ValidationError `EMAIL_SUPPRESSED`, NotFoundError,
 * ForeignResourceError, and what `requireRunningPlan` throws.
 */
export async function subscribeSubscriber(ctx: Context, ref: SubscriberRef): Promise<Subscriber> {
  const found = await findSubscriber(ctx, ref);
  return inTransaction(ctx, async ({ db }) => {
    const subscriber = await lockSubscriber(db, found);
    if (!subscriber) throw subscriberNotFound();
    const { customerId, email } = subscriber;
    if (await isSuppressed(db, { customerId, emailKey: emailKey(email) })) throw emailSuppressed();
    await requireRunningPlan(db, customerId);
    const asked = await writeSubscriber(db, subscriber, { ...subscriber, status: 'pending' }, true);
    await sendConfirmation(db, asked, { source: 'api', ipAddress: ctx.ipAddress });
    return asked;
  });
}
