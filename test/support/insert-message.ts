/** A message outside of campaigns that waits, for a person on a list. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql, type Queryable } from '../../src/db/database.ts';
import { enqueuePersonMail } from '../../src/domain/audience/mails/person-mail.ts';
import { messageUid } from '../../src/lib/ids.ts';

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

/** How the log is asked for it. */
export const messageFilter = (path: string, email: string) =>
  path === '/messages' ? { purpose: 'goodbye', state: 'queued', email } : {};
