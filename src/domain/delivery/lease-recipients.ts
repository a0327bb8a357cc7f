/**
 * Takes or reads a range's due rows and looks at the people behind them: whoever left the list or was suppressed since
 * the plan is closed at once, the others are ready to be sent to.
 */
import type { Queryable } from '../../db/database.ts';
import {
  byRecipient,
  untried,
  type LeasedDelivery,
  type DeliveryOutcome,
  type DueDelivery,
  type LedgerRange,
} from './delivery.ts';
import { peopleBehind, type Person } from './people-read-model.ts';
import { leaseRange, dueInRange, settle, type Leaseholder } from './ledger-store.ts';

const NOBODY: Omit<Person, 'id'> = { email: null, fields: null, denialReason: 'deleted' };

/**
 * Reads what is due in the range and answers who may be mailed. Nothing is taken: whoever marks a row first has it
 * (`settle`), and one that was taken by another meanwhile is not marked.
 */
export async function findRecipients(
  db: Queryable,
  range: LedgerRange,
  holder: Leaseholder,
): Promise<LeasedDelivery[]> {
  return mailable(db, range, { holder, due: await dueInRange(db, range) });
}

/** Leases what is due in the range to `holder` and answers who may be mailed. */
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

/** Closes those whom there is no mail for. */
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
