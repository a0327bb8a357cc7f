/**
 * Restores the subscription that a click on the page has just ended. Never one that a complaint, a bounce, the API, a robot or a
 * mail ended or ended once more, nor that of a suppressed address or of another address than the one that unsubscribed.
 */
import { emailKey } from '../../lib/text.ts';
import { inTransaction, type Context } from '../context.ts';
import { deleteNoticesOf } from './mails/unsubscribe-notice-store.ts';
import { insertConsentEvent, lockSubscriber, writeSubscriber } from './subscriber-store.ts';
import { isSuppressed } from './suppression-store.ts';
import { undoAddress } from './undo-address.ts';
import { isUndoable } from './undo-store.ts';
import type { EndedSubscription } from './unsubscribe-subscriber.ts';

/** The person is subscribed again, with an event in the history. False, and nothing changes: it is too late, or was changed since. */
export async function undoUnsubscribe(ctx: Context, ended: EndedSubscription): Promise<boolean> {
  return inTransaction(ctx, async ({ db }) => {
    const subscriber = await lockSubscriber(db, ended);
    if (subscriber?.status !== 'unsubscribed') return false;
    const { customerId, email } = subscriber;
    if (undoAddress(ctx.installation, email) !== ended.address) return false;
    if (!(await isUndoable(db, ended))) return false;
    if (await isSuppressed(db, { customerId, emailKey: emailKey(email) })) return false;
    await writeSubscriber(db, subscriber, { ...subscriber, status: 'subscribed' });
    await insertConsentEvent(db, subscriber, { status: 'subscribed', source: 'undo', ipAddress: ctx.ipAddress });
    await deleteNoticesOf(db, subscriber);
    return true;
  });
}
