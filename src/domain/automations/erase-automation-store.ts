/** Erases automations: their rows, and what people left in the tables that grow. */
import { sql, row, type Queryable } from '../../db/database.ts';
import type { Automation } from './automation.ts';
import { FLOWS_IN_QUEUE } from './flow-activity-store.ts';

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
