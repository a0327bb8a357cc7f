/** A message outside of campaigns that waits, for a person on a list, and one of an automation whose outcome is unknown. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql, type Queryable } from '../../src/db/database.ts';
import { enqueuePersonMail } from '../../src/domain/audience/mails/person-mail.ts';
import { PRIORITIES } from '../../src/domain/messages/message.ts';
import { SOURCE_KINDS } from '../../src/domain/source-key.ts';
import { messageIdOf, messageUid } from '../../src/lib/ids.ts';

interface PersonKey {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly id: bigint;
}

/** Writes it and answers its uid. */
export async function insertMessage(db: Queryable, person: PersonKey): Promise<string> {
  await enqueuePersonMail(db, person, { kind: 'goodbye', eventId: 1n });
  const [message] = await queryRows<{ id: bigint }>(
    db,
    sql`SELECT id FROM hot.message WHERE customer_id = ${person.customerId}`,
  );
  return messageUid(message?.id ?? 0n);
}

/** As if the world's automation had sent it, and its server had never answered. */
export async function doubtMessage(db: Queryable, { messageUid: uid, automationUid }: FlowMessage): Promise<void> {
  const id = messageIdOf(uid);
  const kind = SOURCE_KINDS.automation;
  await db.execute(sql`
    WITH a AS (SELECT customer_id, id FROM automation WHERE uid = ${automationUid}),
         gone AS (DELETE FROM hot.message_queue WHERE message_id = ${id}),
         m AS (UPDATE hot.message SET purpose = 'flow', priority = ${PRIORITIES.flow}, source_kind = ${kind}, source_id = a.id
                 FROM a WHERE hot.message.id = ${id}),
         c AS (INSERT INTO hot.delivery_counter (customer_id, source_kind, source_id, audience, unknown) SELECT customer_id, ${kind}, id, 1, 1 FROM a)
    UPDATE hot.delivery SET source_kind = ${kind}, source_id = a.id, state = 'unknown', reason = 'worker_lost', attempts = 1, not_before = NULL
      FROM a WHERE occurrence = ${id}`);
}

interface FlowMessage {
  readonly messageUid: string;
  readonly automationUid: string;
}

/** How the log is asked for it, and what is decided about it. */
export function messageValues(path: string, email: string): Record<string, unknown> {
  if (path === '/messages/:uid/decide') return { decision: 'accept' };
  return path === '/messages' ? { purpose: 'goodbye', state: 'queued', email } : {};
}
