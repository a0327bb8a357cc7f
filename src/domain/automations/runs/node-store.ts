/** Nodes in the database: when the next run of each is due, whether it is paused, and for which plugin it waits. One row for each node of a version. */
import { sql, row, typed, type Queryable, type Transaction } from '../../../db/database.ts';
import { tryLockUntilCommit } from '../../../db/lock.ts';
import type { UnavailableCondition } from '../../audience/segments/segment-errors.ts';
import type { AutomationStatus } from '../automation.ts';
import { nextRelease, type LateMode, type LateRuns } from './late-runs.ts';
import { holdNode } from './node-count-store.ts';
import type { NodeKey } from './run.ts';

/** Only one process at a time does the work of a node. */
export function tryNode(tx: Transaction, { customerId, automationId, version, node }: NodeKey): Promise<boolean> {
  return tryLockUntilCommit(tx, `mailwright:flow-node:${customerId}:${automationId}:${version}:${node}`);
}

const STATE_ROW = row({
  status: typed<AutomationStatus>('text'),
  paused: 'text[]',
  mode: typed<LateMode | null>('text?'),
  until: 'timestamptz?',
  from: 'timestamptz?',
  hours: 'int?',
  total: 'int?',
  done: 'int?',
});

export interface NodeState {
  readonly status: AutomationStatus;
  /** The nodes of this version that are paused. */
  readonly paused: ReadonlySet<string>;
  /** Null: no run of the node was late when the flow went on, or all of these have been moved. */
  readonly late: LateRuns | null;
}

/** Undefined: the automation is gone. */
export async function nodeState(
  db: Queryable,
  { customerId, automationId, version, node }: NodeKey,
): Promise<NodeState | undefined> {
  const [found] = await db.query(
    STATE_ROW,
    sql`SELECT a.status, n.late_mode AS mode, n.late_until AS until, n.late_from AS from, n.late_hours AS hours, n.late_total::int AS total, n.late_done::int AS done,
               ARRAY(SELECT p.node FROM hot.flow_node p
                      WHERE p.customer_id = a.customer_id AND p.automation_id = a.id AND p.version = ${version} AND p.paused_at IS NOT NULL) AS paused
          FROM automation a
          LEFT JOIN hot.flow_node n ON n.customer_id = a.customer_id AND n.automation_id = a.id AND n.version = ${version} AND n.node = ${node}
         WHERE a.customer_id = ${customerId} AND a.id = ${automationId}`,
    'automations.node_state',
  );
  if (!found) return undefined;
  const { status, paused, mode, until, from, hours, total, done } = found;
  const late =
    mode && until && from ? { mode, until, from, hours: hours ?? 0, total: total ?? 0, done: done ?? 0 } : null;
  return { status, paused: new Set(paused), late };
}

/**
 * Stores when the node has work again, after its due runs were moved. By a statement of its own, while this transaction holds the row:
 * who brings an earlier time writes it afterwards.
 */
export async function storeNextWake(tx: Transaction, key: NodeKey): Promise<void> {
  await holdNode(tx, key);
  await tx.execute(
    sql`UPDATE hot.flow_node n SET postponed_at = NULL, postponed_for = NULL, next_wake_at = (
          SELECT r.wake_at FROM hot.flow_run r WHERE ${runsOf(key)} AND r.wake_at IS NOT NULL ORDER BY r.wake_at LIMIT 1)
         WHERE ${isNode(key)}`,
    'automations.next_wake',
  );
}

/** The same of a node with late runs, of which the next may go at this time; without any left, they are forgotten. */
export async function storeNextRelease(tx: Transaction, key: NodeKey, late: LateRuns): Promise<void> {
  await holdNode(tx, key);
  await tx.execute(
    sql`UPDATE hot.flow_node n
           SET postponed_at = NULL, postponed_for = NULL,
               next_wake_at = least(CASE WHEN x.any_late THEN ${nextRelease(late)}::timestamptz END, (
                 SELECT r.wake_at FROM hot.flow_run r WHERE ${runsOf(key)} AND r.wake_at > ${late.until} ORDER BY r.wake_at LIMIT 1)),
               late_mode = CASE WHEN x.any_late THEN n.late_mode END
          FROM (SELECT EXISTS (SELECT 1 FROM hot.flow_run r WHERE ${runsOf(key)} AND r.wake_at <= ${late.until}) AS any_late) x
         WHERE ${isNode(key)} AND n.late_from = ${late.from} AND n.late_mode IS NOT NULL`,
    'automations.next_release',
  );
}

function runsOf({ customerId, automationId, version, node }: NodeKey) {
  return sql`r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.version = ${version} AND r.node = ${node}`;
}

function isNode({ customerId, automationId, version, node }: NodeKey) {
  return sql`n.customer_id = ${customerId} AND n.automation_id = ${automationId} AND n.version = ${version} AND n.node = ${node}`;
}

const NODE_AT_WORK = row({ customerId: 'bigint', automationId: 'bigint', version: 'int', node: 'text' });

/** The nodes of active automations that have something due: of each customer the same number, the longest overdue first. */
export function dueNodes(db: Queryable, now: Date, max: number): Promise<NodeKey[]> {
  return db.query(
    NODE_AT_WORK,
    sql`SELECT "customerId", "automationId", version, node FROM (
          SELECT n.customer_id AS "customerId", n.automation_id AS "automationId", n.version, n.node, n.next_wake_at,
                 row_number() OVER (PARTITION BY n.customer_id ORDER BY n.next_wake_at) AS turn
            FROM hot.flow_node n
            JOIN automation a ON a.customer_id = n.customer_id AND a.id = n.automation_id AND a.status = 'active'
           WHERE n.next_wake_at <= ${now} AND n.paused_at IS NULL) due
         ORDER BY turn, next_wake_at LIMIT ${max}`,
    'automations.due_nodes',
  );
}

/** For how many seconds the node waits that is overdue for longest; 0: nothing is due. */
export async function secondsOverdue(db: Queryable): Promise<number> {
  const [first] = await db.query(
    { seconds: 'float8' },
    sql`SELECT extract(epoch FROM clock_timestamp() - n.next_wake_at)::float8 AS seconds
          FROM hot.flow_node n
          JOIN automation a ON a.customer_id = n.customer_id AND a.id = n.automation_id AND a.status = 'active'
         WHERE n.next_wake_at <= now() AND n.paused_at IS NULL ORDER BY n.next_wake_at LIMIT 1`,
    'automations.seconds_overdue',
  );
  return Math.max(0, first?.seconds ?? 0);
}

interface Postponed {
  /** What a plugin has not answered; null: it failed for another reason. */
  readonly about: UnavailableCondition | null;
  readonly now: Date;
  readonly until: Date;
}

/** Nothing of the node is tried before `until`: its work failed as a whole. Returns whether people wait there for a plugin from now on. */
export async function writePostponed(
  tx: Transaction,
  key: NodeKey,
  { about, now, until }: Postponed,
): Promise<boolean> {
  const [written] = await tx.query(
    { isNew: 'bool' },
    sql`UPDATE hot.flow_node n
           SET next_wake_at = greatest(n.next_wake_at, ${until}),
               postponed_at = CASE WHEN x.is_waited_for THEN coalesce(n.postponed_at, ${now}) END,
               postponed_for = CASE WHEN x.is_waited_for THEN ${about && JSON.stringify(about)}::jsonb END
          FROM (SELECT n.postponed_at, ${about !== null}::boolean AND n.waiting > 0 AS is_waited_for FROM hot.flow_node n WHERE ${isNode(key)}) x
         WHERE ${isNode(key)} AND n.next_wake_at IS NOT NULL
        RETURNING x.is_waited_for AND x.postponed_at IS NULL AS "isNew"`,
    'automations.postpone_node',
  );
  return written?.isNew ?? false;
}

const UNANSWERED_ROW = row({ node: 'text', waiting: 'int', about: typed<UnavailableCondition>('json') });

/** Where people of the automation wait for a plugin, at most so many nodes. */
export function unansweredNodes(
  db: Queryable,
  { customerId, automationId }: Pick<NodeKey, 'customerId' | 'automationId'>,
  max: number,
) {
  return db.query(
    UNANSWERED_ROW,
    sql`SELECT n.node, n.waiting::int AS waiting, n.postponed_for AS about FROM hot.flow_node n
         WHERE n.customer_id = ${customerId} AND n.automation_id = ${automationId} AND n.postponed_at IS NOT NULL AND n.waiting > 0
         ORDER BY n.version DESC, n.node LIMIT ${max}`,
  );
}
