/**
 * Word to a list's owner about who left, gathered: the first within a minute or two, then one mail an hour at most,
 * however many leave. What waits lies in a table, so that nothing is lost and nothing is told twice.
 */
import { sql, type Queryable } from '../../../db/database.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import { notifyUnsubscribesJob } from '../../../jobs/audience-jobs.ts';
import { emailKey } from '../../../lib/text.ts';
import type { Context } from '../../context.ts';
import type { MailList } from '../list-fields.ts';
import type { SubscriberKey } from '../subscriber-store.ts';
import { isSuppressed } from '../suppression.ts';
import { mailSenderOf, type MailSender } from './compile-list-mail.ts';
import { mailOfList } from './list-mail-store.ts';
import type { ListMail } from './list-mail.ts';

/** A minute gathers those who leave after the same campaign. */
const GATHER_SECONDS = 60;
/** An owner wants to know, not to be called. */
const BETWEEN_SECONDS = 3_600;
/** Named in one mail; of more there is the number. */
export const NAMED_MAX = 50;
/** Told in one go; the rest in the next. */
const NOTICES_MAX = 10_000;

type ListKey = Pick<MailList, 'customerId' | 'id'>;

/** Notes that somebody left, and sees to it that the owner will be told. */
export async function noticeUnsubscribe(db: Queryable, { customerId, listId, id }: SubscriberKey): Promise<void> {
  await db.execute(
    sql`INSERT INTO hot.unsubscribe_notice (customer_id, list_id, subscriber_id) VALUES (${customerId}, ${listId}, ${id})`,
  );
  await enqueueNotices(db, { customerId, id: listId });
}

/** The one job of a list; that it is enqueued again does not put it off, because its time follows from the oldest notice. */
async function enqueueNotices(db: Queryable, { customerId, id }: ListKey): Promise<void> {
  const [due] = await db.query<{ seconds: number | null }>(sql`
    SELECT extract(epoch FROM greatest(
             (SELECT min(at) FROM hot.unsubscribe_notice WHERE customer_id = ${customerId} AND list_id = ${id}) + make_interval(secs => ${GATHER_SECONDS}),
             l.unsubscribes_notified_at + make_interval(secs => ${BETWEEN_SECONDS})) - now())::float8 AS seconds
      FROM mail_list l WHERE l.customer_id = ${customerId} AND l.id = ${id}
       AND EXISTS (SELECT 1 FROM hot.unsubscribe_notice WHERE customer_id = ${customerId} AND list_id = ${id})`);
  if (!due) return;
  await enqueue(
    db,
    notifyUnsubscribesJob,
    { customerId: String(customerId), listId: String(id) },
    { key: `audience.notify-unsubscribes:${id}`, delaySeconds: Math.max(0, due.seconds ?? 0) },
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
  const [notices] = await ctx.db.query<{ lastId: bigint | null; count: number; people: string[] | null }>(sql`
    WITH notice AS (
      SELECT n.id, n.subscriber_id FROM hot.unsubscribe_notice n
       WHERE n.customer_id = ${list.customerId} AND n.list_id = ${list.id} ORDER BY n.id LIMIT ${NOTICES_MAX})
    SELECT max(n.id) AS "lastId", count(DISTINCT n.subscriber_id)::int AS count,
           (SELECT array_agg(s.email ORDER BY s.id)
              FROM (SELECT s.id, s.email FROM subscriber s
                     WHERE s.customer_id = ${list.customerId} AND s.list_id = ${list.id}
                       AND s.id IN (SELECT subscriber_id FROM notice) ORDER BY s.id LIMIT ${NAMED_MAX}) s) AS people
      FROM notice n`);
  const sender = await mailSenderOf(ctx.db, list);
  if (!notices?.lastId || !sender) return undefined;
  if (await isSuppressed(ctx.db, { customerId: list.customerId, emailKey: emailKey(sender.contact.email) })) {
    await endUnsubscribeDigest(ctx, list, notices.lastId);
    return undefined;
  }
  const { lastId, count, people: named } = notices;
  const others = count - (named?.length ?? 0);
  const people = [...(named ?? []), ...(others > 0 ? [`and ${others} more`] : [])].join('\n');
  const mail = await mailOfList(ctx.db, list, 'unsubscribe-notification');
  return { lastId, count, people, to: sender.contact.email, sender, mail };
}

/** Forgets what was told, and sees to what came meanwhile. */
export async function endUnsubscribeDigest(ctx: Context, { customerId, id }: ListKey, lastId: bigint): Promise<void> {
  await ctx.database.transaction(async (tx) => {
    await tx.execute(
      sql`DELETE FROM hot.unsubscribe_notice WHERE customer_id = ${customerId} AND list_id = ${id} AND id <= ${lastId}`,
    );
    await tx.execute(
      sql`UPDATE mail_list SET unsubscribes_notified_at = now() WHERE customer_id = ${customerId} AND id = ${id}`,
    );
    await enqueueNotices(tx, { customerId, id });
  });
}
