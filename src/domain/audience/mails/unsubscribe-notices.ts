/**
 * Notifications of a list's owner about unsubscribes, collected: the first within a minute or two, then one mail an hour at most.
 * Waiting notices are in a table, so that none is lost and none is sent twice.
 */
import type { Queryable } from '../../../db/database.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import { notifyUnsubscribesJob } from '../../../jobs/audience-jobs.ts';
import { emailKey } from '../../../lib/text.ts';
import type { Context } from '../../context.ts';
import { noteUnsubscribesNotified, type ListKey } from '../list-store.ts';
import type { SubscriberKey } from '../subscriber-store.ts';
import { isSuppressed } from '../suppression-store.ts';
import { mailOfList } from './list-mail-store.ts';
import type { ListMail } from './list-mail.ts';
import { mailSenderOf, type MailSender } from './mail-sender-read-model.ts';
import { deleteNotices, insertNotice, secondsUntilDue, waitingNotices } from './unsubscribe-notice-store.ts';

/** Records that a person left, and makes sure that the owner is notified. */
export async function noticeUnsubscribe(db: Queryable, { customerId, listId, id }: SubscriberKey): Promise<void> {
  await insertNotice(db, { customerId, listId, id });
  await enqueueNotices(db, { customerId, id: listId });
}

/** One job per list; enqueuing it again does not delay it, because its time follows from the oldest notice. */
async function enqueueNotices(db: Queryable, { customerId, id }: ListKey): Promise<void> {
  const seconds = await secondsUntilDue(db, { customerId, id });
  if (seconds === undefined) return;
  await enqueue(
    db,
    notifyUnsubscribesJob,
    { customerId: String(customerId), listId: String(id) },
    { key: `audience.notify-unsubscribes:${id}`, delaySeconds: Math.max(0, seconds) },
  );
}

export interface UnsubscribeDigest {
  /** The newest notice in it: identifies this digest. */
  readonly lastId: bigint;
  readonly count: number;
  /** Addresses, one per line, without people who were erased since. */
  readonly people: string;
  readonly to: string;
  readonly sender: MailSender;
  readonly mail: ListMail;
}

/** The content of the mail to the owner; undefined when there is nothing, or nobody to notify. */
export async function unsubscribeDigest(ctx: Context, list: ListKey): Promise<UnsubscribeDigest | undefined> {
  const notices = await waitingNotices(ctx.db, list);
  const sender = await mailSenderOf(ctx.db, list);
  if (!notices || !sender) return undefined;
  const to = sender.contact.email || sender.from.email;
  if (await isSuppressed(ctx.db, { customerId: list.customerId, emailKey: emailKey(to) })) {
    await endUnsubscribeDigest(ctx, list, notices.lastId);
    return undefined;
  }
  const { lastId, count, people: named } = notices;
  const others = count - named.length;
  const people = [...named, ...(others > 0 ? [`and ${others} more`] : [])].join('\n');
  const mail = await mailOfList(ctx.db, list, 'unsubscribe-notification');
  return { lastId, count, people, to, sender, mail };
}

/** Deletes the notices that were sent, and enqueues a job for those that came meanwhile. */
export async function endUnsubscribeDigest(ctx: Context, { customerId, id }: ListKey, lastId: bigint): Promise<void> {
  await ctx.database.transaction(async (tx) => {
    await deleteNotices(tx, { customerId, id }, lastId);
    await noteUnsubscribesNotified(tx, { customerId, id });
    await enqueueNotices(tx, { customerId, id });
  });
}
