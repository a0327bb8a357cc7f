/** Flows that go on after a pause: how many runs are late at which node, and what was chosen for them (D85). And nodes that were paused (D87). */
import { sql, row, type Queryable, type RowOf, type Transaction } from '../../../db/database.ts';
import type { LateRuns } from './late-runs.ts';
import type { NodeKey, VersionKey } from './run.ts';

type AutomationKey = Omit<VersionKey, 'version'>;

const LATE_ROW = row({ version: 'int', node: 'text', runs: 'int' });

/** How many runs of each node have been due since this time or longer. */
export function lateNodes(db: Queryable, { customerId, automationId }: AutomationKey, since: Date) {
  return db.query(
    LATE_ROW,
    sql`SELECT r.version, r.node, count(*)::int AS runs FROM hot.flow_run r
         WHERE r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.wake_at <= ${since} GROUP BY r.version, r.node`,
  );
}

/**
 * All nodes of the automation go on from now on: those that were paused, too, and what was chosen for late runs before is over. The rows stay
 * locked, in the order of all who write several.
 */
export async function resumeNodes(
  tx: Transaction,
  { customerId, automationId }: AutomationKey,
  now: Date,
): Promise<void> {
  await tx.execute(
    sql`SELECT 1 FROM hot.flow_node WHERE customer_id = ${customerId} AND automation_id = ${automationId} ORDER BY version, node COLLATE "C" FOR UPDATE`,
  );
  await tx.execute(
    sql`UPDATE hot.flow_node
           SET next_wake_at = CASE WHEN late_mode IS NULL THEN next_wake_at ELSE ${now} END, late_mode = NULL,
               ${AS_NEW}
         WHERE customer_id = ${customerId} AND automation_id = ${automationId} AND (late_mode IS NOT NULL OR paused_at IS NOT NULL)`,
  );
}

const AS_NEW = sql`paused_at = NULL, hour_moved = 0, hour_parked = 0`;

/** The same for one node that was paused. */
export async function resumeNode(tx: Transaction, { customerId, automationId, version, node }: NodeKey): Promise<void> {
  await tx.execute(
    sql`UPDATE hot.flow_node SET ${AS_NEW}
         WHERE customer_id = ${customerId} AND automation_id = ${automationId} AND version = ${version} AND node = ${node} AND paused_at IS NOT NULL`,
  );
}

/** Stores what becomes of the late runs of these nodes. The rows are held (`resumeNodes`). */
export async function chooseForLate(
  tx: Transaction,
  { customerId, automationId }: AutomationKey,
  {
    nodes,
    choice,
  }: {
    readonly nodes: readonly RowOf<typeof LATE_ROW>[];
    readonly choice: Pick<LateRuns, 'mode' | 'until' | 'from' | 'hours'>;
  },
): Promise<void> {
  const { mode, until, from, hours } = choice;
  await tx.execute(
    sql`UPDATE hot.flow_node n
           SET late_mode = ${mode}, late_until = ${until}, late_from = ${from}, late_hours = ${hours}, late_total = c.runs, late_done = 0
          FROM jsonb_to_recordset(${JSON.stringify(nodes)}::jsonb) AS c (version int, node text, runs int)
         WHERE n.customer_id = ${customerId} AND n.automation_id = ${automationId} AND n.version = c.version AND n.node = c.node`,
  );
}
