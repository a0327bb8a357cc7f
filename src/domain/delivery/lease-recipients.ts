/**
 * Takes or reads a range's due rows and looks at the people behind them: whoever left the list or was suppressed since
 * the plan is closed at once, the others are ready to be sent to.
 */
import { sql, type Queryable } from '../../db/database.ts';
import {
  untried,
  type Lease,
  type LeasedDelivery,
  type DeliveryOutcome,
  type DueDelivery,
  type LedgerRange,
} from './delivery.ts';
import { leaseRange, dueInRange, settle, type Leaseholder } from './ledger-store.ts';

interface Person extends Pick<DueDelivery, 'email' | 'fields' | 'denialReason'> {
  readonly id: bigint;
}

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

/** One look-up by the whole key for each, whatever the planner thinks of a list that was just imported. */
function peopleBehind(
  db: Queryable,
  customerId: bigint,
  { listId, rows }: { listId: bigint; rows: readonly Lease[] },
): Promise<Person[]> {
  return db.query<Person & Record<string, unknown>>(
    sql`SELECT i.id, s.email, s.fields,
               CASE WHEN s.email IS NULL THEN 'deleted' WHEN s.status <> 'subscribed' THEN s.status WHEN x.found THEN 'suppressed' END AS "denialReason"
          FROM unnest(${rows.map((row) => row.subscriberId)}::bigint[]) AS i(id)
          LEFT JOIN LATERAL (SELECT s.email, s.email_key, s.fields, s.status FROM public.subscriber s
                              WHERE s.customer_id = ${customerId} AND s.list_id = ${listId} AND s.id = i.id OFFSET 0) s ON true
          LEFT JOIN LATERAL (SELECT true AS found FROM public.suppression x
                              WHERE x.customer_id IN (0, ${customerId}) AND x.email_key = s.email_key LIMIT 1) x ON true`,
    'delivery.people',
  );
}
