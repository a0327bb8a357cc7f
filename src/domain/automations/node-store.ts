/**
 * Nodes in the database: how many people came, are there, went on, left or are parked (D90), and when the next of them is due. One row for
 * each node of a version.
 */
import { sql, row, type Queryable, type Transaction } from '../../db/database.ts';
import { tryLockUntilCommit } from '../../db/lock.ts';
import type { Move, NodeKey, Place, VersionKey } from './run.ts';

/** Only one process at a time does the work of a node. */
export function tryNode(tx: Transaction, { customerId, automationId, version, node }: NodeKey): Promise<boolean> {
  return tryLockUntilCommit(tx, `mailwright:flow-node:${customerId}:${automationId}:${version}:${node}`);
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

const NO_CHANGE: NodeChange = { entered: 0, waiting: 0, passed: 0, left: 0, parked: 0, nextWakeAt: null };

interface ChangedNode {
  readonly key: NodeKey;
  readonly change: NodeChange;
}

/** What transactions have changed, and will write before they commit. */
const changesOf = new WeakMap<Transaction, Map<string, ChangedNode>>();

/**
 * The change of this node's counts in this transaction, to be added to. All of them are written together, in one order for all transactions,
 * so that two that move runs of the same nodes never wait for each other both.
 */
function changeAt(tx: Transaction, key: NodeKey): NodeChange {
  let changes = changesOf.get(tx);
  if (!changes) {
    changes = new Map();
    changesOf.set(tx, changes);
    tx.beforeCommit(() => writeChanges(tx));
  }
  const name = `${key.customerId} ${key.automationId} ${key.version} ${key.node}`;
  const known = changes.get(name)?.change ?? { ...NO_CHANGE };
  changes.set(name, { key, change: known });
  return known;
}

function wakes(change: NodeChange, at: Date | null): void {
  if (at && (change.nextWakeAt === null || at < change.nextWakeAt)) change.nextWakeAt = at;
}

/** A run that is due counts as waiting: it is at the node. */
export function countMoves(tx: Transaction, key: VersionKey, moves: readonly Move[]): void {
  for (const { from, what, to, goesOn = false, wasParked = false } of moves) {
    if (what !== 'stays') {
      const left = changeAt(tx, { ...key, node: from });
      left[wasParked ? 'parked' : 'waiting'] -= 1;
      left[what] += 1;
    }
    if (!to) continue;
    const target = changeAt(tx, { ...key, node: to.node });
    if (what === 'passed') {
      target.entered += 1;
      target.waiting += 1;
    }
    if (!goesOn) wakes(target, to.wakeAt);
  }
}

/** Of runs that are new. */
export function countEntries(tx: Transaction, key: VersionKey, places: readonly Place[]): void {
  for (const { node, wakeAt } of places) {
    const change = changeAt(tx, { ...key, node });
    change.entered += 1;
    change.waiting += 1;
    wakes(change, wakeAt);
  }
}

/** Of parked runs of a node that are due again. */
export function countUnparked(tx: Transaction, key: NodeKey, { runs, now }: { runs: number; now: Date }): void {
  const change = changeAt(tx, key);
  change.parked -= runs;
  change.waiting += runs;
  wakes(change, now);
}

async function writeChanges(tx: Transaction): Promise<void> {
  const changes = [...(changesOf.get(tx) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
  changesOf.get(tx)?.clear();
  if (changes.length === 0) return;
  const rows = changes.map(([, { key, change }]) => ({
    ...{ customer: String(key.customerId), automation: String(key.automationId), version: key.version, node: key.node },
    ...change,
  }));
  await tx.execute(
    sql`INSERT INTO hot.flow_node AS n (customer_id, automation_id, version, node, entered, waiting, passed, "left", parked, next_wake_at)
        SELECT c.customer, c.automation, c.version, c.node, c.entered, c.waiting, c.passed, c."left", c.parked, c."nextWakeAt"
          FROM ROWS FROM (jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
            AS (customer bigint, automation bigint, version int, node text, entered bigint, waiting bigint, passed bigint, "left" bigint, parked bigint,
                "nextWakeAt" timestamptz)) WITH ORDINALITY
            AS c (customer, automation, version, node, entered, waiting, passed, "left", parked, "nextWakeAt", no)
         ORDER BY c.no
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
export async function storeNextWake(tx: Transaction, key: NodeKey): Promise<void> {
  const { customerId, automationId, version, node } = key;
  changeAt(tx, key);
  await writeChanges(tx);
  await tx.execute(
    sql`UPDATE hot.flow_node SET next_wake_at = (
          SELECT r.wake_at FROM hot.flow_run r
           WHERE r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.version = ${version} AND r.node = ${node}
             AND r.wake_at IS NOT NULL ORDER BY r.wake_at LIMIT 1)
         WHERE customer_id = ${customerId} AND automation_id = ${automationId} AND version = ${version} AND node = ${node}`,
    'automations.next_wake',
  );
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
           WHERE n.next_wake_at <= ${now}) due
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
         WHERE n.next_wake_at <= now() ORDER BY n.next_wake_at LIMIT 1`,
    'automations.seconds_overdue',
  );
  return Math.max(0, first?.seconds ?? 0);
}

/** Nothing of the node is tried before this time: its work failed as a whole, as when a plugin that it asks is away. */
export async function postponeNode(
  db: Queryable,
  { customerId, automationId, version, node }: NodeKey,
  until: Date,
): Promise<void> {
  await db.execute(
    sql`UPDATE hot.flow_node SET next_wake_at = greatest(next_wake_at, ${until})
         WHERE customer_id = ${customerId} AND automation_id = ${automationId} AND version = ${version} AND node = ${node} AND next_wake_at IS NOT NULL`,
  );
}
