/** Erases automations: their rows, and what people left in the tables that grow. */
import { sql, row, type Queryable } from '../../db/database.ts';
import type { Automation } from './automation.ts';
import { FLOWS_IN_QUEUE } from './events/flow-activity-store.ts';
import { UNTIL_ACTIVATED } from './events/flow-follower-store.ts';

/** The nodes last: by them it is found what is left. */
const TABLES = [
  'flow_run',
  'flow_payload',
  'flow_entry',
  'flow_step',
  'flow_activity',
  'flow_follower',
  'flow_node',
] as const;

/** With its versions. */
export async function deleteAutomationRow(
  db: Queryable,
  { customerId, id }: Pick<Automation, 'customerId' | 'id'>,
): Promise<void> {
  await db.execute(sql`DELETE FROM automation WHERE customer_id = ${customerId} AND id = ${id}`);
}

const GONE_ROW = row({ customerId: 'bigint', automationId: 'bigint' });

/**
 * One that is gone and of which something is left. Everybody who enters makes a node's row; who was never entered has been followed; and an
 * open may have been noted at the moment of the deletion.
 */
export async function findGoneAutomation(db: Queryable) {
  const [gone] = await db.query(
    GONE_ROW,
    sql`SELECT n.customer_id AS "customerId", n.automation_id AS "automationId"
          FROM (SELECT customer_id, automation_id FROM hot.flow_node UNION ALL
                SELECT customer_id, automation_id FROM hot.flow_follower UNION ALL
                SELECT customer_id, automation_id FROM (${FLOWS_IN_QUEUE}) q) n
         WHERE NOT EXISTS (SELECT 1 FROM automation a WHERE a.customer_id = n.customer_id AND a.id = n.automation_id) LIMIT 1`,
  );
  return gone;
}

/** Erases at most `max` rows of one table. False: nothing is left. */
export async function eraseRows(
  db: Queryable,
  { customerId, automationId }: { readonly customerId: bigint; readonly automationId: bigint },
  max: number,
): Promise<boolean> {
  for (const table of TABLES) {
    const name = sql([`hot.${table}`]);
    const rows = await db.execute(
      sql`DELETE FROM ${name} WHERE customer_id = ${customerId} AND automation_id = ${automationId} AND ctid = ANY (ARRAY(
            SELECT ctid FROM ${name} WHERE customer_id = ${customerId} AND automation_id = ${automationId} LIMIT ${max}))`,
    );
    if (rows > 0) return true;
  }
  return false;
}

/** Opens and clicks wait no longer for a flow that an outage has stopped: else they would gather for as long as nobody looks at it. */
const KEPT_DAYS = 7;

/**
 * Erases at most `max` opens and clicks that flows which are not active were to look at: of those that a user has stopped all, as activating
 * them would do; of those that an outage has stopped old ones. Returns how many.
 */
export function discardActivity(db: Queryable, max: number): Promise<number> {
  return db.execute(
    sql`DELETE FROM hot.flow_activity WHERE ctid = ANY (ARRAY(
          SELECT x.ctid FROM (${FLOWS_IN_QUEUE}) q
            JOIN automation a ON a.customer_id = q.customer_id AND a.id = q.automation_id AND a.status <> 'active'
            JOIN hot.flow_follower f ON f.customer_id = a.customer_id AND f.automation_id = a.id
           CROSS JOIN LATERAL (SELECT x.ctid FROM hot.flow_activity x
                                WHERE x.customer_id = q.customer_id AND x.automation_id = q.automation_id
                                  AND (f.retry_at IS DISTINCT FROM ${UNTIL_ACTIVATED} OR x.due_at < now() - make_interval(days => ${KEPT_DAYS}::int)) LIMIT ${max}) x
           WHERE f.retry_at IS DISTINCT FROM ${UNTIL_ACTIVATED} OR q.due_at < now() - make_interval(days => ${KEPT_DAYS}::int)
           LIMIT ${max}))`,
    'automations.discard_old_activity',
  );
}
