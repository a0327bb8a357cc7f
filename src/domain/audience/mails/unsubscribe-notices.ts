/**
 * Notifications of a list's owner about unsubscribes, collected: the first within a minute or two, then one mail an hour at most.
 * Waiting notices are in a table, so that none is lost and none is sent twice.
 */
import type { Queryable } from '../../../db/database.ts';
import { enqueueKeyed } from '../../../jobs/define-job.ts';
import { notifyUnsubscribesJob } from '../../../jobs/audience-jobs.ts';
import { hasRunningPlan } from '../../billing/plans/require-allowed.ts';
import type { Context } from '../../context.ts';
import { enqueueMessages } from '../../messages/enqueue-messages.ts';
import { PRIORITIES } from '../../messages/message.ts';
import { SOURCE_KINDS } from '../../source-key.ts';
import { noteUnsubscribesNotified, type ListKey } from '../list-store.ts';
import type { SubscriberKey } from '../subscriber-store.ts';
import { mailOfList } from './list-mail-store.ts';
import type { ListMail } from './list-mail.ts';
import { mailSenderOf, type MailSender } from './mail-sender-read-model.ts';
import { addressesOf, deleteNotices, dueNotices, insertNotices, waitingNotices } from './unsubscribe-notice-store.ts';

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

/**
 * Enqueues the mail to the owner of the list about the unsubscribes since the last one, if any and if the customer may send (D55).
 * The notices are deleted with it: each is in one mail.
 */
export async function enqueueUnsubscribeDigest(ctx: Context, list: ListKey): Promise<void> {
  if (!(await hasRunningPlan(ctx.db, list.customerId))) return;
  await ctx.database.transaction(async (tx) => {
    const notices = await waitingNotices(tx, list);
    const sender = notices && (await mailSenderOf(tx, list));
    if (!sender) return;
    const { customerId, id } = list;
    const { lastId, count, subscriberIds } = notices;
    await enqueueMessages(tx, [
      {
        source: { customerId, sourceKind: SOURCE_KINDS.listMail, sourceId: id },
        to: { email: sender.contact.email || sender.from.email },
        kind: 'transactional',
        purpose: 'unsubscribe_notification',
        priority: PRIORITIES.list,
        cause: `unsubscribes ${id} ${lastId}`,
        content: { count, subscriberIds: subscriberIds.map(String) },
      },
    ]);
    await deleteNotices(tx, list, lastId);
    await noteUnsubscribesNotified(tx, list);
    await enqueueNotices(tx, customerId, [id]);
  });
}

export interface UnsubscribeDigest {
  readonly count: number;
  /** Addresses, one per line, without people who were erased since. */
  readonly people: string;
  readonly sender: MailSender;
  readonly mail: ListMail;
}

/** The content of the mail to the owner; undefined when the list is gone or its customer is disabled. */
export async function unsubscribeDigest(
  { db }: Context,
  list: ListKey,
  { count, subscriberIds }: { readonly count: number; readonly subscriberIds: readonly bigint[] },
): Promise<UnsubscribeDigest | undefined> {
  const sender = await mailSenderOf(db, list);
  if (!sender) return undefined;
  const named = await addressesOf(db, list, subscriberIds);
  const others = count - named.length;
  const people = [...named, ...(others > 0 ? [`and ${others} more`] : [])].join('\n');
  return { count, people, sender, mail: await mailOfList(db, list, 'unsubscribe-notification') };
}
