/** Leases of messages that are not of a campaign: renewed while they are under way, ended when their worker puts them back or dies. */
import { sql, type Queryable } from '../../../db/database.ts';
import type { Leaseholder } from '../ledger/ledger-store.ts';

/** Puts back what `owner` took and did not mark: it is due at once. */
export async function returnMessages(db: Queryable, owner: string, ids: readonly bigint[]): Promise<void> {
  await db.execute(
    sql`UPDATE hot.message_queue SET owner = NULL, not_before = now() WHERE message_id = ANY (${[...ids]}::bigint[]) AND owner = ${owner}::uuid`,
    'messages.return',
  );
}

/** What dead workers had taken is due at once. What they were handing over waits for its lease (hot.take_messages). */
export async function freeMessagesOfDead(db: Queryable): Promise<number> {
  return db.execute(
    sql`UPDATE hot.message_queue q SET owner = NULL, not_before = now()
         WHERE q.owner IN (SELECT o.owner FROM (SELECT DISTINCT owner FROM hot.message_queue WHERE owner IS NOT NULL) o
                            WHERE NOT hot.is_worker_alive(o.owner))`,
    'messages.free-of-dead',
  );
}

/** Renews the leases of messages that `owner` has under way, also those that it seemed to have lost for a moment. Skips rows that are being written: these are being settled now. */
export async function renewMessages(
  db: Queryable,
  { owner, leaseSeconds }: Leaseholder,
  ids: readonly bigint[],
): Promise<void> {
  await db.execute(
    sql`WITH mine AS (
          SELECT q.message_id, q.customer_id FROM hot.message_queue q
           WHERE q.message_id = ANY (${[...ids]}::bigint[]) AND (q.owner = ${owner}::uuid OR q.owner IS NULL) ORDER BY q.message_id FOR UPDATE SKIP LOCKED
        ), renewed AS (
          UPDATE hot.message_queue q SET owner = ${owner}::uuid, not_before = now() + make_interval(secs => ${leaseSeconds})
           FROM mine WHERE q.message_id = ANY (${[...ids]}::bigint[]) AND q.message_id = mine.message_id
        )
        UPDATE hot.delivery d SET lease_expires_at = now() + make_interval(secs => ${leaseSeconds})
          FROM (SELECT m.* FROM mine CROSS JOIN LATERAL (SELECT m.* FROM hot.message m WHERE m.customer_id = mine.customer_id AND m.id = mine.message_id OFFSET 0) m
                OFFSET 0) m
         WHERE d.snapshot_on = m.snapshot_on AND d.customer_id = m.customer_id AND d.source_kind = m.source_kind AND d.source_id = m.source_id
           AND d.recipient_id = m.recipient_id AND d.occurrence = m.id AND d.state = 'sending' AND d.owner = ${owner}::uuid`,
    'messages.renew',
  );
}
