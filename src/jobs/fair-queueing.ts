/**
 * Fair queueing: the order in which jobs of many customers run. A customer's k-th waiting job has the same priority as the k-th
 * of every other customer, however many follow (start-time fair queueing, docs/decisions/0113).
 */
import type { Database, Queryable } from '../db/database.ts';
import { lowerPriorities } from './queue-internals-store.ts';
import { lockPriorities, lowerGivenPriorities, priorityServed, takePriorityRange } from './queue-priority-store.ts';

/** `planned`: new work. `again`: work that comes back; it has its own count, or it would wait behind all new work. */
export type PriorityKind = 'planned' | 'again';

/** A priority is a smallint; a customer's jobs beyond it run in the order of their time. */
const PRIORITY_MAX = 32_000;
/** The count restarts at this number; the numbers above are for the waiting jobs of one customer. */
const PRIORITIES_BEFORE_RENUMBERING = 8_000;

/** The priorities of `amount` jobs of the customer, in their order. */
export async function takePriorities(
  db: Queryable,
  customerId: bigint,
  { amount, kind }: { amount: number; kind: PriorityKind },
): Promise<number[]> {
  const first = await takePriorityRange(db, customerId, { amount, isAgain: kind === 'again' });
  return Array.from({ length: amount }, (_, index) => Math.min(PRIORITY_MAX, first + index));
}

/** Reduces the numbers when they are large, and returns by how much. Cheap when there is nothing to do. */
export async function renumberPriorities(database: Database): Promise<number> {
  if ((await priorityServed(database)) <= PRIORITIES_BEFORE_RENUMBERING) return 0;
  return database.transaction(async (tx) => {
    await lockPriorities(tx);
    const by = (await priorityServed(tx)) - 1;
    await lowerPriorities(tx, by);
    await lowerGivenPriorities(tx, by);
    return by;
  });
}
