/**
 * Mails of jobs that waited when the hold began: the original installation has sent them since. Mails requested after that are
 * not included: nobody else will send them.
 */
import { sql, row, type Queryable, type Sql, type RowOf } from '../../db/database.ts';
import { notifyUnsubscribesJob, sendConfirmationJob, sendListMailJob } from '../../jobs/audience-jobs.ts';
import { flowTestJob, sendToFinishedJob } from '../../jobs/automation-jobs.ts';
import { paymentMailJob } from '../../jobs/billing-jobs.ts';
import { postmasterMailJob } from '../../jobs/bounce-jobs.ts';
import { sendTestMessagesJob } from '../../jobs/campaign-jobs.ts';
import { queuedJobs } from '../../jobs/queue-internals-store.ts';
import { addressMailJob, domainMailJob } from '../../jobs/sending-jobs.ts';
import { dropMessages } from '../messages/message-store.ts';
import { SOURCE_KINDS } from '../source-key.ts';

const WAITING_MAILS_ROW = row({
  /** What the mail is, such as `confirmation`; of what a job sends, the job's name. */
  kind: 'text',
  customerUid: 'text?',
  listUid: 'text?',
  count: 'int',
  firstAskedAt: 'timestamptz',
  lastAskedAt: 'timestamptz',
});
/** Mails of one kind and one list; some kinds have no list. */
export type WaitingMails = RowOf<typeof WAITING_MAILS_ROW>;

/** Jobs that send mails themselves, or let people in who get some; campaigns are paused instead. */
const MAILING_JOBS = [
  sendConfirmationJob,
  sendListMailJob,
  notifyUnsubscribesJob,
  sendTestMessagesJob,
  flowTestJob,
  sendToFinishedJob,
  addressMailJob,
  domainMailJob,
  postmasterMailJob,
  paymentMailJob,
].map(({ name }) => name);

/** A job with a key that is enqueued again keeps its row, and `updated_at` shows it. */
const olderThan = (since: Date): Sql => sql`j.name = ANY(${MAILING_JOBS}) AND NOT j.is_running
  AND j.created_at < ${since} AND (j.key IS NULL OR j.updated_at < ${since})`;

/** Mails that were requested before `since` and not sent. */
export async function waitingMails(db: Queryable, since: Date): Promise<WaitingMails[]> {
  return db.query(
    WAITING_MAILS_ROW,
    sql`
    SELECT j.name AS kind, c.uid AS "customerUid", l.uid AS "listUid", count(*)::int AS count,
           min(j.created_at) AS "firstAskedAt", max(j.created_at) AS "lastAskedAt"
      FROM ${queuedJobs} j
      LEFT JOIN customer c ON c.id = (j.payload ->> 'customerId')::bigint
      LEFT JOIN mail_list l ON l.customer_id = c.id AND l.id = (j.payload ->> 'listId')::bigint
     WHERE ${olderThan(since)}
     GROUP BY 1, 2, 3
    UNION ALL
    SELECT m.purpose, c.uid, l.uid, count(*)::int, min(m.created_at), max(m.created_at)
      FROM hot.message_queue q JOIN hot.message m ON m.customer_id = q.customer_id AND m.id = q.message_id
      LEFT JOIN customer c ON c.id = m.customer_id
      LEFT JOIN mail_list l ON l.customer_id = m.customer_id AND m.source_kind = ${SOURCE_KINDS.listMail} AND l.id = m.source_id
     WHERE m.created_at < ${since}
     GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
  );
}

/** Drops mails that were requested before `since`, and returns them. */
export async function dropWaitingMails(db: Queryable, since: Date): Promise<WaitingMails[]> {
  const dropped = await waitingMails(db, since);
  await db.execute(
    sql`SELECT 1 FROM graphile_worker.complete_jobs(ARRAY(SELECT j.id FROM ${queuedJobs} j WHERE ${olderThan(since)}))`,
  );
  await dropMessages(db, since);
  await db.execute(sql`DELETE FROM hot.unsubscribe_notice WHERE at < ${since}`);
  await db.execute(
    sql`UPDATE test_message SET state = 'failed', reply = 'The installation was restored from a backup: try it again.', updated_at = now()
         WHERE state = 'queued' AND created_at < ${since}`,
  );
  // The original has let in whom it was to let in, and has mailed them.
  for (const table of [sql`automation_enrolment`, sql`automation_test`])
    await db.execute(
      sql`UPDATE ${table} SET status = 'cancelled', finished_at = now() WHERE status = 'running' AND created_at < ${since}`,
    );
  return dropped;
}
