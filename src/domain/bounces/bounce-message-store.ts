/** Rows of messages found in the mailboxes of bounce handlers, each known by a digest of its name in the mailbox. */
import { sql, type Queryable } from '../../db/database.ts';
import { sha256 } from '../../lib/crypto.ts';
import type { BounceHandlerKey } from './bounce-handler.ts';

const KEY_BYTES = 16;

/** The key of the message with this name, as hexadecimal digits. */
export function messageKey(name: string): string {
  return keyOf(name).toString('hex');
}

function keyOf(name: string): Buffer {
  return sha256(name).subarray(0, KEY_BYTES);
}

/** What became of the handler's messages, by their keys; null: read at least once, and not to its end. */
export async function knownMessages(
  db: Queryable,
  { customerId, id }: BounceHandlerKey,
): Promise<Map<string, string | null>> {
  const rows = await db.query(
    { key: 'bytea', outcome: 'text?' },
    sql`SELECT message_key AS key, outcome FROM hot.bounce_message WHERE customer_id = ${customerId} AND handler_id = ${id}`,
  );
  return new Map(rows.map(({ key, outcome }) => [key.toString('hex'), outcome]));
}

/** Forgets messages by their keys. */
export async function deleteMessages(
  db: Queryable,
  { customerId, id }: BounceHandlerKey,
  keys: readonly string[],
): Promise<void> {
  if (keys.length === 0) return;
  const gone = keys.map((key) => Buffer.from(key, 'hex'));
  await db.execute(
    sql`DELETE FROM hot.bounce_message WHERE customer_id = ${customerId} AND handler_id = ${id} AND message_key = ANY (${gone}::bytea[])`,
  );
}

/** Counts a try; answers how often it was begun with, this time included. */
export async function noteAttempt(db: Queryable, { customerId, id }: BounceHandlerKey, name: string): Promise<number> {
  const [row] = await db.query(
    { attempts: 'smallint' },
    sql`INSERT INTO hot.bounce_message AS m (customer_id, handler_id, message_key) VALUES (${customerId}, ${id}, ${keyOf(name)})
        ON CONFLICT (customer_id, handler_id, message_key) DO UPDATE SET attempts = m.attempts + 1 RETURNING attempts`,
    'bounces.note_attempt',
  );
  return row?.attempts ?? 1;
}

/** Writes what became of a message. */
export async function noteOutcome(
  db: Queryable,
  { customerId, id }: BounceHandlerKey,
  { name, outcome }: { name: string; outcome: string },
): Promise<void> {
  await db.execute(
    sql`UPDATE hot.bounce_message SET outcome = ${outcome}
         WHERE customer_id = ${customerId} AND handler_id = ${id} AND message_key = ${keyOf(name)}`,
    'bounces.note_outcome',
  );
}

/** Forgets all messages of a handler. */
export async function deleteAllMessages(db: Queryable, { customerId, id }: BounceHandlerKey): Promise<void> {
  await db.execute(sql`DELETE FROM hot.bounce_message WHERE customer_id = ${customerId} AND handler_id = ${id}`);
}
