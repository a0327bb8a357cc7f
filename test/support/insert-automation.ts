/** The automation of a world: published and active, with a valid draft; the person waits in it for a call. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { flowTestUid, newUid, runUid } from '../../src/lib/ids.ts';
import type { RestApp } from './rest-app.ts';

export const FLOW = {
  triggers: [{ type: 'execute' }],
  nodes: [{ id: 'rest', type: 'wait', for: { days: 2 } }],
  edges: [{ from: 'start', to: 'rest' }],
};

/** The flow as a document. */
export const DOCUMENT = { format: 'mailwright.flow.1', name: 'Imported', flow: FLOW };

/** As it is published. */
const PUBLISHED = {
  ...{ triggers: FLOW.triggers, entry: { mode: 'once' }, nodes: [...FLOW.nodes, { id: 'call', type: 'api_call' }] },
  edges: [
    { from: 'start', port: 'next', to: 'rest' },
    { from: 'rest', port: 'next', to: 'call' },
  ],
  ...{ goals: [], exits: [], holidays: [], passesMax: 10, layout: {} },
};

interface Place {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly personId: bigint;
}

export async function insertAutomation(
  { ctx }: RestApp,
  { customerId, listId, personId }: Place,
): Promise<{ automationUid: string; runUid: string; flowTestUid: string }> {
  const automationUid = newUid();
  const [run] = await queryRows<{ id: bigint; testId: bigint }>(
    ctx.db,
    sql`
    WITH a AS (INSERT INTO automation (customer_id, list_id, uid, name, status, draft, live_version)
               VALUES (${customerId}, ${listId}, ${automationUid}, 'Automation', 'active', ${JSON.stringify(FLOW)}::jsonb, 1) RETURNING customer_id, id),
         r AS (INSERT INTO hot.flow_run (customer_id, automation_id, person_id, entered_at, since, version, state, node, steps)
               SELECT customer_id, id, ${personId}, now(), now(), 1, 'waiting', 'call', 1 FROM a RETURNING *),
         s AS (INSERT INTO hot.flow_step (customer_id, automation_id, run_id, person_id, at, version, happened_on, node, what, reason, no)
               SELECT customer_id, automation_id, id, person_id, now(), 1, current_date, 'call', 'entered', 'execute', 1 FROM r),
         e AS (INSERT INTO hot.flow_entry (customer_id, automation_id, person_id, run_id, entered_at) SELECT customer_id, automation_id, person_id, id, now() FROM r),
         n AS (INSERT INTO hot.flow_node (customer_id, automation_id, version, node, entered, waiting) SELECT customer_id, id, 1, 'call', 1, 1 FROM a),
         t AS (INSERT INTO automation_test (customer_id, automation_id, draft_version, flow, email, ports, wait_seconds, is_marked, position)
               SELECT customer_id, id, 1, ${JSON.stringify(PUBLISHED)}::jsonb, 'tester@person.example', '{}', 600, true, '{"node": "rest"}' FROM a RETURNING id),
         v AS (INSERT INTO automation_version (customer_id, automation_id, number, flow) SELECT customer_id, id, 1, ${JSON.stringify(PUBLISHED)}::jsonb FROM a)
    SELECT r.id, t.id AS "testId" FROM r, t`,
  );
  return { automationUid, runUid: runUid(run?.id ?? 0n), flowTestUid: flowTestUid(run?.testId ?? 0n) };
}

/** Right values for the rows of automations. */
export function automationValues(path: string): Readonly<Record<string, unknown>> {
  if (!path.startsWith('/automations')) return {};
  const overdue = { overdue: 'spread', overdue_hours: 2 };
  const entering = { people: 1, per_hour: 100, without_triggers: 1 };
  const testing = { wait_seconds: 600, ports: {}, mark_subject: 1 };
  const own = { flow: FLOW, document: DOCUMENT, node: 'call', draft_version: 1, version: 1, state: 'waiting' };
  const moving = { moves: { call: 'rest' }, move_parked: true };
  return { ...own, ...moving, ...overdue, ...entering, ...testing };
}
