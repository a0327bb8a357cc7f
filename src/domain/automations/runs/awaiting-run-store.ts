/** Runs of people to whom something happened: whoever ends a wait by an event, or lets people leave, holds their rows. */
import { row, sql, type Transaction } from '../../../db/database.ts';
import { RUN_COLUMNS, RUN_ROW } from './run-store.ts';
import type { Run, VersionKey } from './run.ts';

const AWAITING_ROW = row({
  ...RUN_ROW,
  version: 'int',
  node: 'text',
  wakeAt: 'timestamptz?',
  isWaiting: 'bool',
  isParked: 'bool',
});
const AWAITING = sql`${RUN_COLUMNS}, r.version, r.node, r.wake_at AS "wakeAt", r.state = 'waiting' AS "isWaiting", r.state = 'parked' AS "isParked"`;

type FlowKey = Pick<VersionKey, 'customerId' | 'automationId'>;

/** Runs of these people in any version of the flow. */
export function runsOfPeople(tx: Transaction, { customerId, automationId }: FlowKey, ids: readonly bigint[]) {
  return tx.query(
    AWAITING_ROW,
    sql`SELECT ${AWAITING} FROM unnest(${[...ids]}::bigint[]) AS k (person_id)
         CROSS JOIN LATERAL (SELECT r.* FROM hot.flow_run r WHERE r.customer_id = ${customerId} AND r.person_id = k.person_id OFFSET 0) r
         WHERE r.automation_id = ${automationId}`,
    'automations.runs_of_people',
  );
}

/** The same for these runs, locked by ascending id, as they are now. Their people are keys, too: see `writeMoves`. */
export function lockRuns(
  tx: Transaction,
  { customerId, automationId }: FlowKey,
  runs: readonly Pick<Run, 'id' | 'personId'>[],
) {
  return tx.query(
    AWAITING_ROW,
    sql`SELECT ${AWAITING} FROM hot.flow_run r
         WHERE r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.id = ANY (${runs.map(({ id }) => id)}::bigint[])
           AND r.person_id = ANY (${runs.map(({ personId }) => personId)}::bigint[])
         ORDER BY r.id FOR NO KEY UPDATE`,
    'automations.lock_runs',
  );
}
export type AwaitingRun = Awaited<ReturnType<typeof lockRuns>>[number];
