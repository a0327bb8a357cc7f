/** People who wait at a mail, since quiet hours or a frequency cap hold it back: nothing else lets a run wait there. */
import { row, sql, type Queryable, type Transaction } from '../../../db/database.ts';
import type { ChangedHolding } from '../../accounts/enqueue-held-mails.ts';
import { holdNode } from '../runs/node-count-store.ts';
import type { NodeKey } from '../runs/run.ts';

const NODE_ROW = row({ customerId: 'bigint', automationId: 'bigint', version: 'int', node: 'text' });

/** The mails of active automations at which people wait, of a list or of all lists of the customer. */
export function holdingNodes(db: Queryable, { customerId, listId }: ChangedHolding): Promise<NodeKey[]> {
  return db.query(
    NODE_ROW,
    sql`SELECT n.customer_id AS "customerId", n.automation_id AS "automationId", n.version, n.node
          FROM automation a
          JOIN hot.flow_node n ON n.customer_id = a.customer_id AND n.automation_id = a.id AND n.waiting > 0
          JOIN automation_version v ON v.customer_id = a.customer_id AND v.automation_id = a.id AND v.number = n.version
         WHERE a.customer_id = ${customerId} AND (${listId}::bigint IS NULL OR a.list_id = ${listId}) AND a.status = 'active'
           AND v.flow -> 'nodes' @> jsonb_build_array(jsonb_build_object('id', n.node, 'type', 'send_mail'))
         ORDER BY n.automation_id, n.version, n.node`,
    'automations.holding_nodes',
  );
}

/** Makes the next `max` people who wait there due now; returns how many. */
export async function freeHeldRuns(
  tx: Transaction,
  key: NodeKey,
  { now, max }: { readonly now: Date; readonly max: number },
): Promise<number> {
  const { customerId, automationId, version, node } = key;
  const freed = await tx.execute(
    sql`WITH held AS MATERIALIZED (
          SELECT r.id FROM hot.flow_run r
           WHERE r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.version = ${version} AND r.node = ${node}
             AND r.wake_at > ${now} AND r.state = 'waiting' ORDER BY r.wake_at, r.id LIMIT ${max} FOR NO KEY UPDATE SKIP LOCKED
        )
        UPDATE hot.flow_run r SET wake_at = ${now} FROM held h
         WHERE r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.id = h.id`,
    'automations.free_held',
  );
  if (freed === 0) return 0;
  // After the runs, as whoever moves them does.
  await holdNode(tx, key);
  await tx.execute(
    sql`UPDATE hot.flow_node SET next_wake_at = least(next_wake_at, ${now})
         WHERE customer_id = ${customerId} AND automation_id = ${automationId} AND version = ${version} AND node = ${node}`,
  );
  return freed;
}
