/** Reads of live tests of flows. */
import { row, sql, typed, type Queryable, type RowOf } from '../../../db/database.ts';
import type { FlowTestFault, FlowTestStatus, FlowTestStep } from './flow-test.ts';

export const FLOW_TEST_ROW = row({
  customerId: 'bigint',
  id: 'bigint',
  automationId: 'bigint',
  status: typed<FlowTestStatus>('text'),
  reason: typed<FlowTestFault | null>('text?'),
  version: 'int?',
  draftVersion: 'int?',
  email: 'text',
  subscriberId: 'bigint?',
  waitSeconds: 'int',
  node: 'text?',
  steps: typed<readonly FlowTestStep[]>('json'),
  nextAt: 'timestamptz?',
  createdAt: 'timestamptz',
  finishedAt: 'timestamptz?',
});
export type FlowTest = RowOf<typeof FLOW_TEST_ROW>;

export const FLOW_TEST_COLUMNS = sql`customer_id AS "customerId", id, automation_id AS "automationId", status, reason, version, draft_version AS "draftVersion", email,
  subscriber_id AS "subscriberId", wait_seconds AS "waitSeconds", CASE WHEN status = 'running' THEN position ->> 'node' END AS node, steps,
  CASE WHEN status = 'running' THEN next_at END AS "nextAt", created_at AS "createdAt", finished_at AS "finishedAt"`;

export interface FlowTestsKey {
  readonly customerId: bigint;
  readonly automationId: bigint;
}

/** How many are running. */
export async function countRunningTests(db: Queryable, { customerId, automationId }: FlowTestsKey): Promise<number> {
  const [found] = await db.query(
    { tests: 'int' },
    sql`SELECT count(*)::int AS tests FROM automation_test
         WHERE customer_id = ${customerId} AND automation_id = ${automationId} AND status = 'running'`,
  );
  return found?.tests ?? 0;
}

/** The latest of an automation, the newest first. */
export function latestFlowTests(db: Queryable, { customerId, automationId }: FlowTestsKey, limit: number) {
  return db.query(
    FLOW_TEST_ROW,
    sql`SELECT ${FLOW_TEST_COLUMNS} FROM automation_test WHERE customer_id = ${customerId} AND automation_id = ${automationId} ORDER BY id DESC LIMIT ${limit}`,
  );
}

export interface FlowTestKey {
  readonly customerId: bigint;
  readonly id: bigint;
}

export async function findFlowTest(db: Queryable, { customerId, automationId, id }: FlowTestsKey & FlowTestKey) {
  const [found] = await db.query(
    FLOW_TEST_ROW,
    sql`SELECT ${FLOW_TEST_COLUMNS} FROM automation_test WHERE customer_id = ${customerId} AND automation_id = ${automationId} AND id = ${id}`,
  );
  return found;
}
