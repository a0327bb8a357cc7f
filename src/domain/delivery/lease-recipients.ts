/**
 * Takes or reads a range's due rows and looks at the people behind them: whoever left the list or was suppressed since
 * the plan is closed at once, the others are ready to be sent to.
 */
import type { Queryable } from '../../db/database.ts';
import { untried, type LeasedDelivery, type DeliveryOutcome, type DueDelivery, type LedgerRange } from './delivery.ts';
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
  lease: { listId: bigint; holder: Leaseholder },
): Promise<LeasedDelivery[]> {
  return mailable(db, range, { ...lease, due: await dueInRange(db, range, lease.listId) });
}

/** Leases what is due in the range to `holder` and answers who may be mailed. */
export async function leaseRecipients(
  db: Queryable,
  range: LedgerRange,
  lease: { listId: bigint; holder: Leaseholder },
): Promise<LeasedDelivery[]> {
  const rows = await leaseRange(db, range, lease.holder);
  if (rows.length === 0) return [];
  const people = new Map(
    (await peopleBehind(db, range.customerId, { listId: lease.listId, rows })).map((person) => [person.id, person]),
  );
  const due = rows.map((row) => ({ ...(people.get(row.subscriberId) ?? NOBODY), ...row }));
  due.sort((a, b) => (a.subscriberId < b.subscriberId ? -1 : 1));
  return mailable(db, range, { ...lease, due });
}

/** Closes those whom there is no mail for. */
async function mailable(
  db: Queryable,
  range: LedgerRange,
  { due, listId, holder }: { due: readonly DueDelivery[]; listId: bigint; holder: Leaseholder },
): Promise<LeasedDelivery[]> {
  const outcomes: DeliveryOutcome[] = [];
  const found: LeasedDelivery[] = [];
  for (const row of due) {
    const { subscriberId, epoch, attempts, email, fields, denialReason } = row;
    if (denialReason === null) found.push({ subscriberId, epoch, attempts, email: email ?? '', fields: fields ?? {} });
    else
      outcomes.push(
        untried(row, { state: denialReason === 'suppressed' ? 'suppressed' : 'skipped', reason: denialReason }),
      );
  }
  if (outcomes.length > 0)
    await settle(db, { key: range, listId, holder, serverId: null, outcomes, next: [], contentVersion: null });
  return found;
}
