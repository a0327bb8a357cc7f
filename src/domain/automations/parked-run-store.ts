/** Writes of parked runs. */
import { sql, row, typed, type Transaction } from '../../db/database.ts';
import type { VersionKey, NodeKey } from './run.ts';
import { resumeNode } from './late-run-store.ts';
import { countUnparked } from './node-count-store.ts';
import { RUN_COLUMNS, RUN_ROW } from './run-store.ts';

/** Makes all parked runs of the node due. Returns how many. */
export async function unparkRuns(
  tx: Transaction,
  key: NodeKey,
  { request, now }: { readonly request: string | null; readonly now: Date },
): Promise<number> {
  const { customerId, automationId, version, node } = key;
  const runs = await tx.execute(
    sql`UPDATE hot.flow_run r SET state = 'due', wake_at = ${now}, failures = 0, reason = ${request}
         WHERE r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.version = ${version} AND r.node = ${node} AND r.state = 'parked'`,
  );
  await resumeNode(tx, key);
  if (runs > 0) countUnparked(tx, key, { runs, now });
  return runs;
}

const PLACED_ROW = row({
  ...RUN_ROW,
  version: 'int',
  node: 'text',
  state: typed<'due' | 'waiting' | 'parked'>('text'),
});

/** Locks the person's runs in the flow. */
export async function lockRunsOfPerson(
  tx: Transaction,
  { customerId, automationId, personId }: Omit<VersionKey, 'version'> & { readonly personId: bigint },
) {
  const rows = await tx.query(
    PLACED_ROW,
    sql`SELECT ${RUN_COLUMNS}, r.version, r.node, r.state::text AS state FROM hot.flow_run r
         WHERE r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.person_id = ${personId} ORDER BY r.id FOR NO KEY UPDATE`,
  );
  return rows.map((run) => ({ ...run, wakeAt: run.since, payload: null, person: null }));
}
