/** Writes of live tests of flows, and what their jobs read. Each step, its mail and where the test stands then are one transaction. */
import { row, sql, typed, type Queryable, type RowOf, type Transaction } from '../../../db/database.ts';
import type { FlowPayload } from '../flow/flow-payload.ts';
import {
  FLOW_TEST_COLUMNS,
  FLOW_TEST_ROW,
  type FlowTest,
  type FlowTestKey,
  type FlowTestsKey,
} from './flow-test-read-model.ts';
import type { FlowTestState } from './flow-test-state.ts';
import type { ChosenPorts, FlowTestFault, FlowTestStatus, FlowTestStep } from './flow-test.ts';
import type { Flow } from '../flow/flow.ts';

export interface NewFlowTest extends FlowTestsKey {
  readonly version: number | null;
  readonly draftVersion: number | null;
  readonly flow: Flow;
  readonly email: string;
  readonly subscriberId: bigint | null;
  readonly payload: FlowPayload | null;
  readonly ports: ChosenPorts;
  readonly waitSeconds: number;
  readonly isMarked: boolean;
  readonly state: FlowTestState;
  /** Until it takes its first step. */
  readonly seconds: number;
}

export async function insertFlowTest(db: Queryable, given: NewFlowTest): Promise<FlowTest> {
  const payload = given.payload === null ? null : JSON.stringify(given.payload);
  const [made] = await db.query(
    FLOW_TEST_ROW,
    sql`INSERT INTO automation_test (customer_id, automation_id, version, draft_version, flow, email, subscriber_id, payload, ports, wait_seconds, is_marked, position, next_at)
        VALUES (${given.customerId}, ${given.automationId}, ${given.version}, ${given.draftVersion}, ${JSON.stringify(given.flow)}::jsonb, ${given.email},
                ${given.subscriberId}, ${payload}::jsonb, ${JSON.stringify(given.ports)}::jsonb, ${given.waitSeconds}, ${given.isMarked},
                ${JSON.stringify(given.state)}::jsonb, now() + make_interval(secs => ${given.seconds}::float8)) RETURNING ${FLOW_TEST_COLUMNS}`,
  );
  if (!made) throw new Error('A test of a flow was not written.');
  return made;
}

const WORK_ROW = row({
  automationId: 'bigint',
  uid: 'text',
  listId: 'bigint',
  listUid: 'text',
  flow: typed<Flow>('json'),
  email: 'text',
  subscriberId: 'bigint?',
  payload: typed<FlowPayload | null>('json?'),
  ports: typed<ChosenPorts>('json'),
  waitSeconds: 'int',
  isMarked: 'bool',
  state: typed<FlowTestState>('json'),
  steps: typed<readonly FlowTestStep[]>('json'),
  secondsLeft: 'float8',
});
export type FlowTestWork = RowOf<typeof WORK_ROW>;

const WORK = sql`SELECT t.automation_id AS "automationId", a.uid, a.list_id AS "listId", l.uid AS "listUid", t.flow, t.email, t.subscriber_id AS "subscriberId", t.payload,
       t.ports, t.wait_seconds AS "waitSeconds", t.is_marked AS "isMarked", t.position AS state, t.steps,
       greatest(0, extract(epoch FROM t.next_at - clock_timestamp()))::float8 AS "secondsLeft"
  FROM automation_test t
  JOIN automation a ON a.customer_id = t.customer_id AND a.id = t.automation_id
  JOIN mail_list l ON l.customer_id = a.customer_id AND l.id = a.list_id`;

/** One that is running; undefined: it has ended, or is gone. */
export async function readFlowTest(db: Queryable, { customerId, id }: FlowTestKey) {
  const [found] = await db.query(
    WORK_ROW,
    sql`${WORK} WHERE t.customer_id = ${customerId} AND t.id = ${id} AND t.status = 'running'`,
  );
  return found;
}

/** The same, locked. */
export async function lockFlowTest(tx: Transaction, { customerId, id }: FlowTestKey) {
  const [found] = await tx.query(
    WORK_ROW,
    sql`${WORK} WHERE t.customer_id = ${customerId} AND t.id = ${id} AND t.status = 'running' FOR UPDATE OF t`,
  );
  return found;
}

export interface FlowTestMoved {
  readonly steps: readonly FlowTestStep[];
  /** Null: it has come to its end. */
  readonly state: FlowTestState | null;
  /** Until it goes on. */
  readonly seconds: number;
}

/** Writes the steps of one that is locked, and where it stands. */
export async function writeFlowTest(
  tx: Transaction,
  { customerId, id }: FlowTestKey,
  { steps, state, seconds }: FlowTestMoved,
): Promise<void> {
  await tx.execute(
    sql`UPDATE automation_test SET steps = ${JSON.stringify(steps)}::jsonb, position = coalesce(${state && JSON.stringify(state)}::jsonb, position),
               next_at = clock_timestamp() + make_interval(secs => ${seconds}::float8),
               status = CASE WHEN ${state === null} THEN 'done' ELSE status END, finished_at = CASE WHEN ${state === null} THEN now() END
         WHERE customer_id = ${customerId} AND id = ${id}`,
  );
}

/** Ends one that is running; false: it had ended. */
export async function endFlowTest(
  db: Queryable,
  { customerId, id }: FlowTestKey,
  { status, reason = null }: { readonly status: FlowTestStatus; readonly reason?: FlowTestFault | null },
): Promise<boolean> {
  const ended = await db.execute(
    sql`UPDATE automation_test SET status = ${status}, reason = ${reason}, finished_at = now()
         WHERE customer_id = ${customerId} AND id = ${id} AND status = 'running'`,
  );
  return ended > 0;
}
