/** When workers last moved people through flows; the flows that are stopped because an outage has made them late, or a backup was restored. */
import type { AutomationStatus } from '../automation.ts';
import { sql, row, type Queryable, type Transaction } from '../../../db/database.ts';

/** Notes that flows are worked on now. Returns for how many seconds they were not; 0 at the first time. One process after the other. */
export async function noteWork(tx: Transaction): Promise<number> {
  const [before] = await tx.query(
    { seconds: 'float8' },
    sql`SELECT extract(epoch FROM now() - seen_at)::float8 AS seconds FROM hot.flow_watch FOR UPDATE`,
    'automations.watch',
  );
  await tx.execute(
    sql`INSERT INTO hot.flow_watch (seen_at) VALUES (now()) ON CONFLICT (one) DO UPDATE SET seen_at = greatest(flow_watch.seen_at, excluded.seen_at)`,
    'automations.note_work',
  );
  return before?.seconds ?? 0;
}

const STOPPED_ROW = row({ customerId: 'bigint', automationId: 'bigint' });

/** Stops the active automations in which a run has been due for so long, and returns them. */
export function stopLate(tx: Transaction, seconds: number) {
  return tx.query(
    STOPPED_ROW,
    sql`UPDATE automation a SET status = 'inactive', updated_at = now()
         WHERE a.status = 'active' AND EXISTS (
           SELECT 1 FROM hot.flow_node n
             JOIN hot.flow_run r ON r.customer_id = n.customer_id AND r.automation_id = n.automation_id AND r.version = n.version AND r.node = n.node
            WHERE n.customer_id = a.customer_id AND n.automation_id = a.id AND n.next_wake_at <= now() - make_interval(secs => ${seconds})
              AND r.wake_at <= now() - make_interval(secs => ${seconds}))
        RETURNING a.customer_id AS "customerId", a.id AS "automationId"`,
  );
}

/** Stops all active automations of all customers, and returns them. */
export function stopEach(tx: Transaction) {
  return tx.query(
    STOPPED_ROW,
    sql`UPDATE automation SET status = 'inactive', updated_at = now() WHERE status = 'active'
        RETURNING customer_id AS "customerId", id AS "automationId"`,
  );
}

const READER_ROW = row({ email: 'text', name: 'text' });

/** The users of the automation's customer, at most `max`, with its name; nobody when it has another status, or the customer is disabled. */
export function readersOf(
  db: Queryable,
  { customerId, automationId }: { readonly customerId: bigint; readonly automationId: bigint },
  { status, max }: { readonly status: AutomationStatus; readonly max: number },
) {
  return db.query(
    READER_ROW,
    sql`SELECT u.email, a.name FROM automation a
          JOIN customer c ON c.id = a.customer_id AND c.status = 'active'
          JOIN app_user u ON u.customer_id = a.customer_id AND u.status = 'active'
         WHERE a.customer_id = ${customerId} AND a.id = ${automationId} AND a.status = ${status} ORDER BY u.id LIMIT ${max}`,
  );
}
