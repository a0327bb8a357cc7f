/**
 * Notifications of a list's owner about unsubscribes, collected: the first within a minute or two, then one mail an hour at most.
 * Waiting notices are in a table, so that none is lost and none is sent twice.
 */
import type { Queryable } from '../../../db/database.ts';
import { enqueueKeyed } from '../../../jobs/define-job.ts';
import { notifyUnsubscribesJob } from '../../../jobs/audience-jobs.ts';
import { emailKey } from '../../../lib/text.ts';
import type { Context } from '../../context.ts';
import { noteUnsubscribesNotified, type ListKey } from '../list-store.ts';
import type { SubscriberKey } from '../subscriber-store.ts';
import { isSuppressed } from '../suppression-store.ts';
import { mailOfList } from './list-mail-store.ts';
import type { ListMail } from './list-mail.ts';
import { mailSenderOf, type MailSender } from './mail-sender-read-model.ts';
import { deleteNotices, dueNotices, insertNotices, waitingNotices } from './unsubscribe-notice-store.ts';

/** Records that people of one customer left, and makes sure that the owners of their lists are notified. */
export async function noticeUnsubscribes(db: Queryable, people: readonly SubscriberKey[]): Promise<void> {
  const [first] = people;
  if (!first) return;
  await insertNotices(db, people);
  await enqueueNotices(
    db,
    first.customerId,
    people.map(({ listId }) => listId),
  );
}

/** One job per list; enqueuing it again does not delay it, because its time follows from the oldest notice. */
async function enqueueNotices(db: Queryable, customerId: bigint, listIds: readonly bigint[]): Promise<void> {
  const due = await dueNotices(db, customerId, listIds);
  const jobs = due.map(({ listId, dueAt }) => ({
    payload: { customerId: String(customerId), listId: String(listId) },
    key: `audience.notify-unsubscribes:${listId}`,
    runAt: dueAt,
  }));
  await enqueueKeyed(db, notifyUnsubscribesJob, jobs);
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
    await enqueueNotices(tx, customerId, [id]);
  });
}
