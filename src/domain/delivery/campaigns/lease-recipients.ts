/**
 * Leases or reads a range's due rows with their people: recipients who left the list or were suppressed since the snapshot are
 * closed at once, the others can be sent to.
 */
import type { Queryable } from '../../../db/database.ts';
import {
  byRecipient,
  untried,
  type LeasedDelivery,
  type DeliveryOutcome,
  type DueDelivery,
  type LedgerRange,
} from '../ledger/delivery.ts';
import { peopleBehind, type Person } from '../people-read-model.ts';
import { leaseRange, dueInRange, settle, type Leaseholder } from '../ledger/ledger-store.ts';

const NOBODY: Omit<Person, 'id'> = { email: null, fields: null, denialReason: 'deleted' };

/**
 * Reads what is due in the range and returns who may be mailed. Nothing is leased: the first worker that marks a row has it
 * (`settle`), and one that another took meanwhile is not marked.
 */
export async function findRecipients(
  db: Queryable,
  range: LedgerRange,
  holder: Leaseholder,
): Promise<LeasedDelivery[]> {
  return mailable(db, range, { holder, due: await dueInRange(db, range) });
}

/** Leases what is due in the range to `holder` and returns who may be mailed. */
export async function leaseRecipients(
  db: Queryable,
  range: LedgerRange,
  holder: Leaseholder,
): Promise<LeasedDelivery[]> {
  const rows = await leaseRange(db, range, holder);
  if (rows.length === 0) return [];
  const people = new Map((await peopleBehind(db, range.customerId, rows)).map((person) => [person.id, person]));
  const due = rows.map((row) => ({ ...(people.get(row.recipientId) ?? NOBODY), ...row })).sort(byRecipient);
  return mailable(db, range, { holder, due });
}

/** Closes recipients who get no mail. */
async function mailable(
  db: Queryable,
  range: LedgerRange,
  { due, holder }: { due: readonly DueDelivery[]; holder: Leaseholder },
): Promise<LeasedDelivery[]> {
  const outcomes: DeliveryOutcome[] = [];
  const found: LeasedDelivery[] = [];
  for (const row of due) {
    const { recipientId, occurrence, listId, epoch, attempts, email, fields, denialReason } = row;
    if (denialReason === null && listId !== null)
      found.push({ recipientId, occurrence, listId, epoch, attempts, email: email ?? '', fields: fields ?? {} });
    else
      outcomes.push(
        untried(row, {
          state: denialReason === 'suppressed' ? 'suppressed' : 'skipped',
          reason: denialReason ?? 'deleted',
        }),
      );
  }
  if (outcomes.length > 0)
    await settle(db, { key: range, holder, serverId: null, outcomes, next: [], contentVersion: null });
  return found;
}
