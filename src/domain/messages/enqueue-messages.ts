/** Enqueues messages: in a transaction they are sent when it commits, and not at all when it does not. */
import type { Queryable } from '../../db/database.ts';
import type { NewMessage } from './message.ts';
import { insertMessages, type WrittenMessage } from './message-store.ts';

/** So many are written by one statement. */
const AT_ONCE_MAX = 1_000;

/**
 * Enqueues the messages; one whose cause the customer has already is left out, so repeating it changes nothing. Returns the causes
 * of those that are new.
 */
export async function enqueueMessages(db: Queryable, messages: readonly NewMessage[]): Promise<string[]> {
  return (await enqueueWithIds(db, messages)).map(({ cause }) => cause);
}

/** The same; returns the ids of those that are new, too. */
export async function enqueueWithIds(db: Queryable, messages: readonly NewMessage[]): Promise<WrittenMessage[]> {
  const written: WrittenMessage[] = [];
  for (let at = 0; at < messages.length; at += AT_ONCE_MAX)
    written.push(...(await insertMessages(db, messages.slice(at, at + AT_ONCE_MAX))));
  return written;
}
