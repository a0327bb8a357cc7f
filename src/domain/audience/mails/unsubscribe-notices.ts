/**
 * Word to a list's owner about who left, gathered: the first within a minute or two, then one mail an hour at most,
 * however many leave. What waits lies in a table, so that nothing is lost and nothing is told twice.
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

/** Notes that somebody left, and sees to it that the owner will be told. */
export async function noticeUnsubscribe(db: Queryable, { customerId, listId, id }: SubscriberKey): Promise<void> {
  await insertNotice(db, { customerId, listId, id });
  await enqueueNotices(db, { customerId, id: listId });
}

/** The one job of a list; that it is enqueued again does not put it off, because its time follows from the oldest notice. */
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
  /** The newest notice in it: tells this digest from every other. */
  readonly lastId: bigint;
  readonly count: number;
  /** Addresses, a line each; those of people that were erased since are not among them. */
  readonly people: string;
  readonly to: string;
  readonly sender: MailSender;
  readonly mail: ListMail;
}

/** What the owner is to be told; undefined when there is nothing, or nobody to tell. */
export async function unsubscribeDigest(ctx: Context, list: ListKey): Promise<UnsubscribeDigest | undefined> {
  const notices = await waitingNotices(ctx.db, list);
  const sender = await mailSenderOf(ctx.db, list);
  if (!notices || !sender) return undefined;
  if (await isSuppressed(ctx.db, { customerId: list.customerId, emailKey: emailKey(sender.contact.email) })) {
    await endUnsubscribeDigest(ctx, list, notices.lastId);
    return undefined;
  }
  const { lastId, count, people: named } = notices;
  const others = count - named.length;
  const people = [...named, ...(others > 0 ? [`and ${others} more`] : [])].join('\n');
  const mail = await mailOfList(ctx.db, list, 'unsubscribe-notification');
  return { lastId, count, people, to: sender.contact.email, sender, mail };
}

/** Forgets what was told, and sees to what came meanwhile. */
export async function endUnsubscribeDigest(ctx: Context, { customerId, id }: ListKey, lastId: bigint): Promise<void> {
  await ctx.database.transaction(async (tx) => {
    await deleteNotices(tx, { customerId, id }, lastId);
    await noteUnsubscribesNotified(tx, { customerId, id });
    await enqueueNotices(tx, { customerId, id });
  });
}
