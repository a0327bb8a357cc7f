/**
 * Runs in the database: what is due at a node, and the one way to move them. Whoever moves runs holds their rows, and writes rows,
 * history, entries and counts in one transaction (D88). Times are those of the caller's fixed "now".
 */
import { sql, row, typed, type Queryable, type Transaction } from '../../db/database.ts';
import type { FlowPayload } from './flow-payload.ts';
import type { DueRun, Move, NodeKey, Passes, Run, RunPerson, VersionKey } from './run.ts';

const RUN_ROW = row({
  id: 'bigint',
  personId: 'bigint',
  enteredAt: 'timestamptz',
  since: 'timestamptz',
  depth: 'smallint',
  failures: 'smallint',
  isTest: 'bool',
  entryKey: 'text',
  passes: typed<Passes | null>('json?'),
});
const RUN_COLUMNS = sql`r.id, r.person_id AS "personId", r.entered_at AS "enteredAt", r.since, r.depth, r.failures, r.is_test AS "isTest", r.entry_key AS "entryKey", r.passes`;

const DUE_ROW = row({
  ...RUN_ROW,
  status: 'text?',
  fields: typed<RunPerson['fields'] | null>('json?'),
  payload: typed<FlowPayload | null>('json?'),
});

export interface DueQuestion {
  readonly listId: bigint;
  /** Due before or at this time. */
  readonly now: Date;
  readonly max: number;
  readonly withPayload: boolean;
}

/** Locks what is due at the node, the earliest first. Rows that others hold come later. */
export async function lockDue(tx: Transaction, key: NodeKey, question: DueQuestion): Promise<DueRun[]> {
  const { listId, now, max, withPayload } = question;
  const rows = await tx.query(
    DUE_ROW,
    sql`SELECT ${RUN_COLUMNS}, s.status, s.fields, p.payload
          FROM hot.flow_run r
          LEFT JOIN LATERAL (SELECT s.status, s.fields FROM subscriber s
                              WHERE s.customer_id = ${key.customerId} AND s.list_id = ${listId} AND s.id = r.person_id OFFSET 0) s ON true
          LEFT JOIN LATERAL (SELECT p.payload FROM hot.flow_payload p
                              WHERE ${withPayload} AND p.customer_id = ${key.customerId} AND p.automation_id = ${key.automationId} AND p.run_id = r.id OFFSET 0) p ON true
         WHERE r.customer_id = ${key.customerId} AND r.automation_id = ${key.automationId} AND r.version = ${key.version}
           AND r.node = ${key.node} AND r.wake_at <= ${now}
         ORDER BY r.wake_at, r.id LIMIT ${max} FOR NO KEY UPDATE OF r SKIP LOCKED`,
    'automations.lock_due',
  );
  return rows.map(({ status, fields, payload, ...run }) => ({
    ...run,
    payload,
    person: status === null ? null : { status, fields: fields ?? {} },
  }));
}

/**
 * For a transaction that enters or moves people: every row is found by its key, and rows of a batch are joined by hash, whatever the
 * statistics of a table that has just grown say.
 */
export async function findByKeys(tx: Transaction): Promise<void> {
  await tx.execute(
    sql`SELECT set_config('enable_seqscan', 'off', true), set_config('enable_nestloop', 'off', true), set_config('enable_mergejoin', 'off', true),
               set_config('enable_bitmapscan', 'off', true)`,
    'automations.find_by_keys',
  );
}

/** Only one process at a time does the work of a node. */
export async function tryNode(tx: Transaction, { customerId, automationId, version, node }: NodeKey): Promise<boolean> {
  const [answer] = await tx.query(
    { isMine: 'bool' },
    sql`SELECT pg_try_advisory_xact_lock(hashtextextended('flow_node', ${automationId}) # hashtextextended(${`${customerId} ${version} ${node}`}, 0)) AS "isMine"`,
    'automations.try_node',
  );
  return answer?.isMine ?? false;
}

interface Moves {
  readonly moves: readonly Move[];
  readonly now: Date;
}

/** Writes the moves: rows, entries, history and counts. The rows are locked by this transaction. */
export async function moveRuns(tx: Transaction, key: VersionKey, { moves, now }: Moves): Promise<void> {
  if (moves.length === 0) return;
  await writeMoves(tx, key, { moves, now });
  await countMoves(tx, key, moves);
}

async function writeMoves(tx: Queryable, key: VersionKey, { moves, now }: Moves): Promise<void> {
  const { customerId, automationId, version } = key;
  const rows = moves.map(({ run, from, what, port, reason, details, to }) => ({
    ...{ id: String(run.id), person: String(run.personId), entry_key: run.entryKey, from, what, port, reason, details },
    ...{ node: to?.node ?? (what === 'parked' ? from : null), state: to?.state ?? 'parked', wake: to?.wakeAt ?? null },
    passes: run.passes,
  }));
  const ids = moves.map(({ run }) => run.id);
  const endedPeople = moves.filter(({ to, what }) => !to && what !== 'parked').map(({ run }) => run.personId);
  await tx.execute(
    sql`WITH m AS MATERIALIZED (
          SELECT * FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
            AS m (id bigint, person bigint, entry_key text, "from" text, what text, port text, reason text, details jsonb,
                  node text, state hot.flow_state, wake timestamptz, passes jsonb)
        ), moved AS (
          UPDATE hot.flow_run r
             SET node = m.node, state = m.state, wake_at = m.wake, passes = nullif(m.passes, 'null'),
                 since = CASE WHEN m.what = 'passed' THEN ${now} ELSE r.since END,
                 failures = CASE WHEN m.what = 'passed' THEN 0 ELSE r.failures END,
                 reason = CASE WHEN m.what = 'parked' THEN m.reason END
            FROM m WHERE r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.id = ANY (${ids}::bigint[])
             AND r.id = m.id AND m.node IS NOT NULL
        ), gone AS (
          DELETE FROM hot.flow_run r USING m
           WHERE r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.id = ANY (${ids}::bigint[])
             AND r.id = m.id AND m.node IS NULL
        ), ended AS (
          UPDATE hot.flow_entry e SET ended_at = ${now}, end_reason = coalesce(m.reason, 'end')
            FROM m WHERE e.customer_id = ${customerId} AND e.automation_id = ${automationId} AND e.person_id = ANY (${endedPeople}::bigint[])
             AND e.person_id = m.person AND e.entry_key = m.entry_key AND e.run_id = m.id AND m.node IS NULL
        ), emptied AS (
          DELETE FROM hot.flow_payload p USING m
           WHERE p.customer_id = ${customerId} AND p.automation_id = ${automationId} AND p.run_id = ANY (${ids}::bigint[])
             AND p.run_id = m.id AND m.node IS NULL
        )
        INSERT INTO hot.flow_step (customer_id, automation_id, run_id, person_id, at, version, happened_on, node, what, port, reason, details)
        SELECT ${customerId}, ${automationId}, m.id, m.person, ${now}, ${version}, (${now}::timestamptz AT TIME ZONE 'UTC')::date,
               m.from, m.what, m.port, m.reason, m.details
          FROM m WHERE m.what <> 'stays'`,
    'automations.move',
  );
}

/** Changes of a node's counts. */
interface NodeChange {
  entered: number;
  waiting: number;
  passed: number;
  left: number;
  parked: number;
  nextWakeAt: Date | null;
}

/** What these moves change, by node. A run that is due counts as waiting: it is at the node. */
function changesOf(moves: readonly Move[]): Map<string, NodeChange> {
  const changes = new Map<string, NodeChange>();
  const at = (node: string): NodeChange => {
    const known = changes.get(node) ?? { entered: 0, waiting: 0, passed: 0, left: 0, parked: 0, nextWakeAt: null };
    changes.set(node, known);
    return known;
  };
  for (const { from, what, to } of moves) {
    if (what !== 'stays') {
      at(from).waiting -= 1;
      at(from)[what] += 1;
    }
    if (!to) continue;
    const target = at(to.node);
    if (what === 'passed') {
      target.entered += 1;
      target.waiting += 1;
    }
    if (to.wakeAt && (target.nextWakeAt === null || to.wakeAt < target.nextWakeAt)) target.nextWakeAt = to.wakeAt;
  }
  return changes;
}

/** In one order for all, so that two that move runs of the same nodes never wait for each other both. */
async function countMoves(tx: Queryable, key: VersionKey, moves: readonly Move[]): Promise<void> {
  await addToNodes(tx, key, changesOf(moves));
}

async function addToNodes(
  tx: Queryable,
  { customerId, automationId, version }: VersionKey,
  changes: ReadonlyMap<string, NodeChange>,
): Promise<void> {
  const rows = [...changes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([node, change]) => ({ node, ...change }));
  await tx.execute(
    sql`INSERT INTO hot.flow_node AS n (customer_id, automation_id, version, node, entered, waiting, passed, "left", parked, next_wake_at)
        SELECT ${customerId}, ${automationId}, ${version}, c.node, c.entered, c.waiting, c.passed, c."left", c.parked, c."nextWakeAt"
          FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
            AS c (node text, entered bigint, waiting bigint, passed bigint, "left" bigint, parked bigint, "nextWakeAt" timestamptz)
         ORDER BY c.node
        ON CONFLICT (customer_id, automation_id, version, node) DO UPDATE
          SET entered = n.entered + excluded.entered, waiting = n.waiting + excluded.waiting, passed = n.passed + excluded.passed,
              "left" = n."left" + excluded."left", parked = n.parked + excluded.parked,
              next_wake_at = least(n.next_wake_at, excluded.next_wake_at)`,
    'automations.count',
  );
}

/**
 * Stores when the node has work again, after its due runs were moved. By a statement of its own, while this transaction holds the row:
 * who brings an earlier time writes it afterwards.
 */
export async function storeNextWake(
  tx: Transaction,
  { customerId, automationId, version, node }: NodeKey,
): Promise<void> {
  await tx.execute(
    sql`SELECT 1 FROM hot.flow_node WHERE customer_id = ${customerId} AND automation_id = ${automationId} AND version = ${version} AND node = ${node} FOR UPDATE`,
    'automations.hold_node',
  );
  await tx.execute(
    sql`UPDATE hot.flow_node SET next_wake_at = (
          SELECT r.wake_at FROM hot.flow_run r
           WHERE r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.version = ${version} AND r.node = ${node}
             AND r.wake_at IS NOT NULL ORDER BY r.wake_at LIMIT 1)
         WHERE customer_id = ${customerId} AND automation_id = ${automationId} AND version = ${version} AND node = ${node}`,
    'automations.next_wake',
  );
}

export interface NewRun {
  readonly run: Run;
  readonly to: Place;
  readonly payload: FlowPayload | null;
  /** The trigger that brought the person. */
  readonly reason: string;
}

type Place = NonNullable<Move['to']>;

/** Puts people in at their first node; their entries are made already (entry-store.ts). */
export async function insertRuns(tx: Transaction, key: VersionKey, runs: readonly NewRun[]): Promise<void> {
  if (runs.length === 0) return;
  const { customerId, automationId, version } = key;
  const rows = runs.map(({ run, to, payload, reason }) => ({
    ...{ id: String(run.id), person: String(run.personId), entered: run.enteredAt, depth: run.depth, test: run.isTest },
    ...{ entry_key: run.entryKey, node: to.node, state: to.state, wake: to.wakeAt, payload, reason },
    passes: run.passes,
  }));
  await tx.execute(
    sql`WITH m AS MATERIALIZED (
          SELECT * FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
            AS m (id bigint, person bigint, entered timestamptz, depth smallint, test boolean, entry_key text, node text,
                  state hot.flow_state, wake timestamptz, payload jsonb, reason text, passes jsonb)
        ), run AS (
          INSERT INTO hot.flow_run (customer_id, automation_id, id, person_id, entered_at, since, wake_at, version, state, depth, is_test, node, entry_key, passes)
          SELECT ${customerId}, ${automationId}, m.id, m.person, m.entered, m.entered, m.wake, ${version}, m.state, m.depth, m.test, m.node, m.entry_key, nullif(m.passes, 'null') FROM m
        ), payload AS (
          INSERT INTO hot.flow_payload (customer_id, automation_id, run_id, payload)
          SELECT ${customerId}, ${automationId}, m.id, m.payload FROM m WHERE jsonb_typeof(m.payload) = 'object'
        )
        INSERT INTO hot.flow_step (customer_id, automation_id, run_id, person_id, at, version, happened_on, node, what, reason)
        SELECT ${customerId}, ${automationId}, m.id, m.person, m.entered, ${version}, (m.entered AT TIME ZONE 'UTC')::date, m.node, 'entered', m.reason FROM m`,
    'automations.insert_runs',
  );
  const changes = new Map<string, NodeChange>();
  for (const { to } of runs) {
    const known = changes.get(to.node) ?? { entered: 0, waiting: 0, passed: 0, left: 0, parked: 0, nextWakeAt: null };
    const isEarlier = to.wakeAt !== null && (known.nextWakeAt === null || to.wakeAt < known.nextWakeAt);
    changes.set(to.node, {
      ...known,
      entered: known.entered + 1,
      waiting: known.waiting + 1,
      nextWakeAt: isEarlier ? to.wakeAt : known.nextWakeAt,
    });
  }
  await addToNodes(tx, key, changes);
}

/** Runs that failed at this node are tried again later, one by one (D87). */
export async function delayRuns(
  db: Queryable,
  key: NodeKey,
  { ids, wakeAt }: { readonly ids: readonly bigint[]; readonly wakeAt: Date },
): Promise<void> {
  await db.execute(
    sql`UPDATE hot.flow_run r SET failures = r.failures + 1, wake_at = ${wakeAt}
         WHERE r.customer_id = ${key.customerId} AND r.automation_id = ${key.automationId} AND r.id = ANY (${[...ids]}::bigint[])
           AND r.node = ${key.node} AND r.version = ${key.version}`,
  );
}

const NODE_AT_WORK = row({ customerId: 'bigint', automationId: 'bigint', version: 'int', node: 'text' });

/** The nodes of active automations that have something due, the longest overdue first. */
export function dueNodes(db: Queryable, now: Date, max: number): Promise<NodeKey[]> {
  return db.query(
    NODE_AT_WORK,
    sql`SELECT n.customer_id AS "customerId", n.automation_id AS "automationId", n.version, n.node
          FROM hot.flow_node n
          JOIN automation a ON a.customer_id = n.customer_id AND a.id = n.automation_id AND a.status = 'active'
         WHERE n.next_wake_at <= ${now} ORDER BY n.next_wake_at LIMIT ${max}`,
    'automations.due_nodes',
  );
}
