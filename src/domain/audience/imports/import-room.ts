/**
 * How many people of a batch the customer's plan has room for. As long as there is plenty, a batch is written first
 * and counted after it, which costs nothing; the batch that would be too much is undone, and from then on every batch
 * asks before it writes, and rejects whoever does not fit, line by line.
 */
import { sql, type Transaction } from '../../../db/database.ts';
import { subscriberRoom } from '../../billing/require-room.ts';
import type { ImportRun } from './import-run.ts';

/** Undoes a batch that was too much: it is written again, asking first. */
export class NoRoom extends Error {}

/** Rows beyond the limit, with what their line is told. */
export interface Surplus {
  readonly rows: ReadonlySet<number>;
  readonly reason: string;
}

const NONE: Surplus = { rows: new Set(), reason: '' };

/** Who of the new people does not fit, the first in the file being the first that do; nobody before it is known to be close. */
export async function surplusOf(
  tx: Transaction,
  run: ImportRun,
  { asksForRoom, newRows }: { asksForRoom: boolean; newRows: () => number[] },
): Promise<Surplus> {
  if (!asksForRoom) return NONE;
  const { customerId, id: listId } = run.list;
  // The list's counters before the customer's lock: the order in which writers come to have the two.
  await tx.execute(
    sql`INSERT INTO hot.list_counter (customer_id, list_id) VALUES (${customerId}, ${listId}) ON CONFLICT DO NOTHING`,
  );
  await tx.query(
    sql`SELECT 1 FROM hot.list_counter WHERE customer_id = ${customerId} AND list_id = ${listId} FOR UPDATE`,
  );
  const room = await subscriberRoom(tx, { customerId, listId });
  if (!room) return NONE;
  return { rows: new Set(newRows().slice(Math.max(0, room.left))), reason: room.reason };
}

/** After the people of a batch that did not ask are written. Throws NoRoom when they are too many, WrongStateError `SUBSCRIPTION_ENDED`. */
export async function checkRoom(tx: Transaction, run: ImportRun): Promise<void> {
  const room = await subscriberRoom(tx, { customerId: run.list.customerId, listId: run.list.id });
  if (room && room.left < 0) throw new NoRoom();
}
