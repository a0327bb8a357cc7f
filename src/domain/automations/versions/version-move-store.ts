/** Moves between versions of a flow in the database (D84): whose turn is next, and the one statement that moves them. */
import { row, sql, typed, type Queryable, type Transaction } from '../../../db/database.ts';
import type { MovedRun, PlacedRun } from './moved-run.ts';
import { countMovedRuns } from '../runs/node-count-store.ts';
import type { Run, VersionKey } from '../runs/run.ts';
import { RUN_COLUMNS, RUN_ROW } from '../runs/run-store.ts';

type AutomationKey = Omit<VersionKey, 'version'>;

const PLACED_ROW = row({
  ...RUN_ROW,
  version: 'int',
  node: 'text',
  state: typed<PlacedRun['state']>('text'),
  wakeAt: 'timestamptz?',
});

/** Locks the next runs of versions before this one, in the order of all who lock several. Who moves one meanwhile is waited for. */
export function lockRunsBefore(
  tx: Transaction,
  { customerId, automationId, version }: VersionKey,
  { afterId, max }: { readonly afterId: bigint; readonly max: number },
) {
  return tx.query(
    PLACED_ROW,
    sql`SELECT ${RUN_COLUMNS}, r.version, r.node, r.state::text AS state, r.wake_at AS "wakeAt" FROM hot.flow_run r
         WHERE r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.version < ${version} AND r.id > ${afterId}
         ORDER BY r.id LIMIT ${max} FOR NO KEY UPDATE`,
  );
}

const PASSED_ROW = row({ runId: 'bigint', version: 'int', nodes: 'text[]' });

/**
 * Through which nodes these runs have gone, of each version. Work that failed is not done, nor is a call that nobody made. With the people, the index of
 * the people is as good as that of the runs: by old statistics the database took it, and read all that ever happened to the customer's people.
 */
export function passedNodes(
  db: Queryable,
  { customerId, automationId }: AutomationKey,
  runs: readonly Pick<Run, 'id' | 'personId'>[],
) {
  return db.query(
    PASSED_ROW,
    sql`SELECT t.run_id AS "runId", t.version, array_agg(DISTINCT t.node) AS nodes FROM hot.flow_step t
         WHERE t.customer_id = ${customerId} AND t.automation_id = ${automationId} AND t.run_id = ANY (${runs.map(({ id }) => id)}::bigint[])
           AND t.person_id = ANY (${runs.map(({ personId }) => personId)}::bigint[]) AND t.what = 'passed' AND coalesce(t.port, '') <> ALL ('{error,timeout}') GROUP BY t.run_id, t.version`,
  );
}

/** Why the person left the node of the one version, and is at that of the other. */
const REASON = 'new_version';

/** Writes rows, history and counts of both versions. The rows are locked by this transaction. */
export async function moveToVersion(
  tx: Transaction,
  key: VersionKey,
  { moved, now }: { readonly moved: readonly MovedRun[]; readonly now: Date },
): Promise<void> {
  if (moved.length === 0) return;
  const { customerId, automationId, version } = key;
  const rows = moved.map(({ run, from, to }) => ({
    ...{ id: String(run.id), person: String(run.personId), no: run.steps + 1, version: from.version, from: from.node },
    ...{ node: to.node, state: to.state, wake: to.wakeAt, since: run.since, failures: run.failures },
    ...{ asked: run.reason, passes: run.passes, done: run.done ?? null },
  }));
  const ids = moved.map(({ run }) => run.id);
  const people = moved.map(({ run }) => run.personId);
  await tx.execute(
    sql`WITH m AS MATERIALIZED (
          SELECT * FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
            AS m (id bigint, person bigint, no integer, version integer, "from" text, node text, state hot.flow_state, wake timestamptz,
                  since timestamptz, failures smallint, asked text, passes jsonb, done jsonb)
        ), moved AS (
          UPDATE hot.flow_run r
             SET version = ${version}, node = m.node, state = m.state, wake_at = m.wake, since = m.since, failures = m.failures, reason = m.asked,
                 passes = nullif(m.passes, 'null'), done = nullif(m.done, 'null'), steps = m.no + 1
            FROM m WHERE r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.id = ANY (${ids}::bigint[]) AND r.id = m.id
             AND r.person_id = ANY (${people}::bigint[])
        )
        INSERT INTO hot.flow_step (customer_id, automation_id, run_id, person_id, at, version, happened_on, node, what, reason, details, no)
        SELECT ${customerId}, ${automationId}, m.id, m.person, ${now}, s.version, (${now}::timestamptz AT TIME ZONE 'UTC')::date,
               s.node, s.what, ${REASON}, jsonb_build_object('version', s.other, 'node', s.other_node), s.no
          FROM m CROSS JOIN LATERAL (VALUES (m.version, m."from", 'left', ${version}::integer, m.node, m.no),
                                            (${version}::integer, m.node, 'moved', m.version, m."from", m.no + 1))
                   AS s (version, node, what, other, other_node, no)`,
    'automations.move_to_version',
  );
  countMovedRuns(tx, key, moved);
}
