/**
 * Counts in memory what became of messages, by server; the heartbeat adds it to the installation's counters every few seconds.
 * For monitoring only: what a killed process had not added yet is not counted. The ledger has the truth.
 */
import type { Queryable } from '../../db/database.ts';
import { addSendingTotals, type CountedMessages } from './sending-total-store.ts';

/** By database: a process may run several installations (tests do). */
const waiting = new WeakMap<Queryable, Map<string, CountedMessages>>();

/** Adds messages of a server that ended so. */
export function countMessages(db: Queryable, { serverId, outcome, messages }: CountedMessages): void {
  const counts = waiting.get(db) ?? new Map<string, CountedMessages>();
  waiting.set(db, counts);
  const key = `${serverId} ${outcome}`;
  counts.set(key, { serverId, outcome, messages: (counts.get(key)?.messages ?? 0) + messages });
}

/** Adds what was counted to the installation's counters. After a failure it is added the next time. */
export async function flushMessageCounts(db: Queryable): Promise<void> {
  const counted = [...(waiting.get(db)?.values() ?? [])];
  if (counted.length === 0) return;
  waiting.delete(db);
  try {
    await addSendingTotals(db, counted);
  } catch (error) {
    for (const one of counted) countMessages(db, one);
    throw error;
  }
}
