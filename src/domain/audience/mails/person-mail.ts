/** Mails to one person after a change of its subscription: enqueuing them, and their data. */
import type { Queryable } from '../../../db/database.ts';
import { lockUntilCommit } from '../../../db/lock.ts';
import { emailKey } from '../../../lib/text.ts';
import type { Context } from '../../context.ts';
import { enqueueMessages } from '../../messages/enqueue-messages.ts';
import { CONFIRMATIONS_PER_DAY_MAX, confirmationRequest } from '../confirmation.ts';
import { insertConfirmationMail, otherConfirmationMails } from '../confirmation-store.ts';
import { addressDigest } from '../erasing/erased-person-store.ts';
import { sendsWelcome, unsubscribeMailsOf } from '../list-store.ts';
import { findMailable, type MailablePerson } from '../subscriber-read-model.ts';
import type { ConsentEvent, SubscriberKey } from '../subscriber-store.ts';
import { BUILT_IN_MAILS } from './built-in-mails.ts';
import { compileListMail } from './compile-list-mail.ts';
import { mailOfList } from './list-mail-store.ts';
import type { ListMail, PersonMailKind } from './list-mail.ts';
import { messageOf, STATUS_FOR } from './person-message.ts';
import { mailSenderOf, type MailSender } from './mail-sender-read-model.ts';
import { noticeUnsubscribes } from './unsubscribe-notices.ts';

/** Enqueues the mail; it is sent when the transaction commits. The event is its cause: one mail for each. */
export async function enqueuePersonMail(db: Queryable, person: SubscriberKey, cause: MailCause): Promise<void> {
  await enqueueMessages(db, [messageOf(person, cause)]);
}

interface MailCause {
  readonly kind: PersonMailKind;
  readonly eventId: bigint;
}

/**
 * After somebody has unsubscribed from lists of one customer, or the API did so: goodbye mails, and notifications of the lists'
 * owners.
 */
export async function afterUnsubscribes(db: Queryable, left: readonly ConsentEvent[]): Promise<void> {
  const [first] = left;
  if (!first) return;
  const lists = await unsubscribeMailsOf(
    db,
    first.customerId,
    left.map(({ listId }) => listId),
  );
  const goodbyes = left.filter(({ listId }) => lists.get(listId)?.saysGoodbye);
  await enqueueMessages(
    db,
    goodbyes.map((person) => messageOf(person, { kind: 'goodbye', eventId: person.eventId })),
  );
  await noticeUnsubscribes(
    db,
    left.filter(({ listId }) => lists.get(listId)?.notifiesOwner),
  );
}

/** After a person has confirmed by a click. */
export async function afterConfirmation(db: Queryable, person: SubscriberKey, eventId: bigint): Promise<void> {
  if (await sendsWelcome(db, { customerId: person.customerId, id: person.listId }))
    await enqueuePersonMail(db, person, { kind: 'welcome', eventId });
}

export interface PersonMail extends MailablePerson {
  readonly sender: MailSender;
  readonly mail: ListMail;
}

export interface PersonMailCause extends SubscriberKey {
  readonly kind: PersonMailKind;
  readonly eventId: bigint;
}

/** Why there is no mail. */
export type NoPersonMail = 'recipient_changed' | 'source_deleted' | 'asked_too_often';

/**
 * The data of the mail, or why there is none: the person is gone, suppressed or has another status; so is the list, or its customer
 * is disabled; the person was asked to confirm too often.
 */
export async function personMail(ctx: Context, cause: PersonMailCause): Promise<PersonMail | NoPersonMail> {
  const { customerId, listId, kind } = cause;
  const person = await findMailable(ctx.db, cause, STATUS_FOR[kind]);
  if (!person) return 'recipient_changed';
  const list = { customerId, id: listId };
  const sender = await mailSenderOf(ctx.db, list);
  if (!sender) return 'source_deleted';
  if (kind === 'confirmation' && !(await mayAsk(ctx, cause, person.email))) return 'asked_too_often';
  return { ...person, sender, mail: await sendable(ctx, sender, await mailOfList(ctx.db, list, kind)) };
}

/**
 * The owner's texts were valid when they were saved; a field may be deleted since, or a sender's name unusual. A confirmation
 * must not fail because of that: then the built-in texts are sent.
 */
async function sendable(ctx: Context, sender: MailSender, mail: ListMail): Promise<ListMail> {
  try {
    await compileListMail(sender, mail.kind, mail);
    return mail;
  } catch (error) {
    if (mail.changedAt === null) throw error;
    ctx.log.warn('audience.list_mail_faulty', { list: sender.list.uid, kind: mail.kind, error });
    return { kind: mail.kind, ...BUILT_IN_MAILS[mail.kind], changedAt: null };
  }
}

/** Three a day to one address, over all lists of all customers: many customers together must not flood a person either (B14). */
async function mayAsk(ctx: Context, cause: PersonMailCause, email: string): Promise<boolean> {
  if (!(await confirmationRequest(ctx, cause))) return false;
  const digest = addressDigest(ctx.installation, emailKey(email));
  return ctx.database.transaction(async (tx) => {
    await lockUntilCommit(tx, `confirmations:${digest.toString('hex')}`);
    if ((await otherConfirmationMails(tx, digest, cause.eventId)) >= CONFIRMATIONS_PER_DAY_MAX) return false;
    await insertConfirmationMail(tx, digest, cause.eventId);
    return true;
  });
}
