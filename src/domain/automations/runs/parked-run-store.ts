/** Writes of parked runs. */
import { sql, row, typed, type Transaction } from '../../../db/database.ts';
import type { VersionKey, NodeKey } from './run.ts';
import { resumeNode } from './late-run-store.ts';
import { countUnparked } from './node-count-store.ts';
import { RUN_COLUMNS, RUN_ROW } from './run-store.ts';

export interface Unparking {
  /** One of RUN_REQUESTS; null: they do the node's work. */
  readonly request: string | null;
  readonly now: Date;
  /** Runs up to this one were made due before. */
  readonly afterId: bigint;
  readonly max: number;
}

/**
 * Makes the next parked runs of the node due, in the order of their ids. Returns these. Joined with them, each would be compared with all runs of
 * the flow while the statistics are old.
 */
export async function unparkRuns(
  tx: Transaction,
  key: NodeKey,
  { request, now, afterId, max }: Unparking,
): Promise<readonly bigint[]> {
  const { customerId, automationId, version, node } = key;
  const rows = await tx.query(
    { id: 'bigint' },
    sql`UPDATE hot.flow_run r SET state = 'due', wake_at = ${now}, failures = 0, reason = ${request}
         WHERE r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.id = ANY (ARRAY(
           SELECT n.id FROM hot.flow_run n
            WHERE n.customer_id = ${customerId} AND n.automation_id = ${automationId} AND n.version = ${version} AND n.node = ${node}
              AND n.wake_at IS NULL AND n.state = 'parked' AND n.id > ${afterId} ORDER BY n.id LIMIT ${max} FOR NO KEY UPDATE))
        RETURNING r.id`,
    'automations.unpark',
  );
  // Those after the first are part of the same wish: if the node was paused by what came of the first, it stays so (D87).
  if (afterId === 0n) await resumeNode(tx, key);
  if (rows.length > 0) countUnparked(tx, key, { runs: rows.length, now });
  return rows.map(({ id }) => id).toSorted((a, b) => (a < b ? -1 : 1));
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
