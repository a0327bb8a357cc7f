/** Writes of messages that wait to be sent: the row, the ledger's row and the place in the queue, by one function of the database. */
import { sql, row, type Queryable, type RowOf, type Sql } from '../../db/database.ts';
import { emailKey } from '../../lib/text.ts';
import { CONTENT_KEPT_DAYS, type NewMessage } from './message.ts';

const WRITTEN_MESSAGE = row({ id: 'bigint', cause: 'text' });
/** A message that was new. */
export type WrittenMessage = RowOf<typeof WRITTEN_MESSAGE>;

/** Writes the messages whose causes are new, and returns these. */
export async function insertMessages(db: Queryable, messages: readonly NewMessage[]): Promise<WrittenMessage[]> {
  const rows = messages.map(({ to, ...message }) => ({
    ...message,
    ...('email' in to
      ? { id: null, listId: null, status: null, email: to.email, key: emailKey(to.email) }
      : { id: to.subscriberId, listId: to.listId, status: to.status, email: null, key: null }),
  }));
  return db.query(
    WRITTEN_MESSAGE,
    sql`SELECT message_id AS id, message_cause AS cause FROM hot.enqueue_messages(
          ${rows.map(({ source }) => source.customerId)}::bigint[], ${rows.map(({ source }) => source.sourceKind)}::smallint[],
          ${rows.map(({ source }) => source.sourceId)}::bigint[], ${rows.map(({ id }) => id)}::bigint[],
          ${rows.map(({ email }) => email)}::text[], ${rows.map(({ key }) => key)}::text[], ${rows.map(({ listId }) => listId)}::bigint[],
          ${rows.map(({ priority }) => priority)}::smallint[], ${rows.map(({ kind }) => kind)}::text[], ${rows.map(({ purpose }) => purpose)}::text[],
          ${rows.map(({ status }) => status)}::text[], ${rows.map(({ cause }) => cause)}::text[],
          ${rows.map(({ content }) => JSON.stringify(content))}::jsonb[], ${rows.map(({ sendAt }) => sendAt ?? null)}::timestamptz[])`,
    'messages.enqueue',
  );
}

/** For FROM: the customer's messages `m` of these causes, one by one: by old statistics all messages of the customer were read for them. */
export function ofCauses(customerId: bigint, causes: readonly string[]): Sql {
  return sql`unnest(${[...new Set(causes)]}::text[]) AS k (cause)
         CROSS JOIN LATERAL (SELECT m.* FROM hot.message m WHERE m.customer_id = ${customerId} AND m.cause BETWEEN k.cause AND k.cause
                              ORDER BY m.cause LIMIT 1) m`;
}

/** Ids of the customer's messages by their causes. */
export async function messageIdsOf(
  db: Queryable,
  customerId: bigint,
  causes: readonly string[],
): Promise<ReadonlyMap<string, bigint>> {
  const rows = await db.query(
    { cause: 'text', id: 'bigint' },
    sql`SELECT m.cause, m.id FROM ${ofCauses(customerId, causes)}`,
    'messages.ids_of_causes',
  );
  return new Map(rows.map(({ cause, id }) => [cause, id]));
}

/** These messages of a customer count as of the time at which they are in the queue now, and not as of the time at which they were made. */
export async function dateByQueue(db: Queryable, customerId: bigint, ids: readonly bigint[]): Promise<void> {
  await db.execute(
    sql`UPDATE hot.message m SET send_at = q.not_before, age_from = NULL FROM hot.message_queue q
         WHERE m.customer_id = ${customerId} AND m.id = ANY (${[...ids]}::bigint[]) AND q.message_id = m.id`,
  );
}

/** So many contents are erased in one statement. */
const ERASED_AT_ONCE = 10_000;

/** Erases the contents of messages that are sent, or were given up, and are older than they are kept; returns how many. */
export async function eraseOldContents(db: Queryable): Promise<number> {
  let erased = 0;
  for (;;) {
    const rows = await db.execute(sql`
      WITH erased AS (
        UPDATE hot.message m SET content = NULL
         WHERE (m.customer_id, m.id) IN (
           SELECT o.customer_id, o.id FROM hot.message o
            WHERE o.content IS NOT NULL AND o.created_at < now() - make_interval(days => ${CONTENT_KEPT_DAYS})
              AND NOT EXISTS (SELECT 1 FROM hot.message_queue q WHERE q.message_id = o.id)
            ORDER BY o.created_at LIMIT ${ERASED_AT_ONCE})
        RETURNING m.customer_id, m.id
      ), files AS (
        DELETE FROM hot.message_file f USING erased e WHERE f.customer_id = e.customer_id AND f.message_id = e.id
      )
      SELECT 1 FROM erased`);
    erased += rows;
    if (rows < ERASED_AT_ONCE) return erased;
  }
}

/**
 * Deletes the messages of a month whose part of the ledger was dropped, and addresses that no message goes to any more; `month` is its
 * first day, YYYY-MM-DD.
 */
export async function deleteMessagesOfMonth(db: Queryable, month: string): Promise<void> {
  await db.execute(sql`
    WITH gone AS (
      DELETE FROM hot.message WHERE snapshot_on >= ${month}::date AND snapshot_on < ${month}::date + interval '1 month'
      RETURNING customer_id, id
    ), files AS (
      DELETE FROM hot.message_file f USING gone g WHERE f.customer_id = g.customer_id AND f.message_id = g.id
    )
    DELETE FROM hot.transactional_mail t USING gone g WHERE t.customer_id = g.customer_id AND t.message_id = g.id`);
  await db.execute(sql`
    DELETE FROM hot.message_recipient r
     WHERE NOT EXISTS (SELECT 1 FROM hot.message m WHERE m.customer_id = r.customer_id AND m.recipient_id = r.id)
       AND r.created_at < now() - interval '1 day'`);
}

/** Closes what waited before the moment, without sending it: a backup was restored. Returns how many messages. */
export async function dropMessages(db: Queryable, before: Date): Promise<number> {
  const [row] = await db.query({ dropped: 'int' }, sql`SELECT hot.drop_messages(${before}::timestamptz) AS dropped`);
  return row?.dropped ?? 0;
}
