/**
 * Counts of nodes: what a transaction changes of them is collected, and written once before it commits (D90). A node at which too many are
 * parked is paused then (D87).
 */
import { sql, row, type Transaction } from '../../../db/database.ts';
import { pausedNodeMailJob } from '../../../jobs/automation-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import type { Move, MovedPlace, NodeKey, Place, VersionKey } from './run.ts';

/** Changes of a node's counts. */
interface NodeChange {
  entered: number;
  waiting: number;
  passed: number;
  left: number;
  parked: number;
  nextWakeAt: Date | null;
  /** In this hour: runs that were moved on, left or were parked, and of these parked. */
  moved: number;
  failed: number;
  /** Of those that were late when the flow went on then. */
  lateDone: number;
  lateFrom: Date | null;
}

const NO_CHANGE: NodeChange = {
  ...{ entered: 0, waiting: 0, passed: 0, left: 0, parked: 0, nextWakeAt: null },
  ...{ moved: 0, failed: 0, lateDone: 0, lateFrom: null },
};

/** A node is paused when more than this share of its runs is parked in an hour; fewer of them may be chance. */
const PARKED_SHARE_MAX = 0.1;
const PARKED_MIN = 10;

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
      if (!wasParked) left.moved += 1;
      if (what === 'parked') left.failed += 1;
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

/** Of runs that were moved from earlier versions to a node of this one (D84): they have left there, and entered here. */
export function countMovedRuns(
  tx: Transaction,
  key: VersionKey,
  moved: readonly { readonly from: Omit<NodeKey, 'customerId' | 'automationId'>; readonly to: MovedPlace }[],
): void {
  for (const { from, to } of moved) {
    const still = to.state === 'parked' ? 'parked' : 'waiting';
    const before = changeAt(tx, { ...key, ...from });
    before[still] -= 1;
    before.left += 1;
    const target = changeAt(tx, { ...key, node: to.node });
    target.entered += 1;
    target[still] += 1;
    wakes(target, to.wakeAt);
  }
}

/** Of parked runs of a node that are due again. */
export function countUnparked(tx: Transaction, key: NodeKey, { runs, now }: { runs: number; now: Date }): void {
  const change = changeAt(tx, key);
  change.parked -= runs;
  change.waiting += runs;
  wakes(change, now);
}

/** Of runs that were late when the flow went on at `from`. */
export function countLate(tx: Transaction, key: NodeKey, { runs, from }: { runs: number; from: Date }): void {
  const change = changeAt(tx, key);
  change.lateDone += runs;
  change.lateFrom = from;
}

/** Writes what was collected up to now, and holds the rows; at least that of this node. */
export async function holdNode(tx: Transaction, key: NodeKey): Promise<void> {
  changeAt(tx, key);
  await writeChanges(tx);
}

async function writeChanges(tx: Transaction): Promise<void> {
  const changes = [...(changesOf.get(tx)?.values() ?? [])];
  changesOf.get(tx)?.clear();
  if (changes.length === 0) return;
  const rows = changes.map(({ key, change }) => ({
    ...{ customer: String(key.customerId), automation: String(key.automationId), version: key.version, node: key.node },
    ...change,
  }));
  await tx.execute(
    sql`INSERT INTO hot.flow_node AS n (customer_id, automation_id, version, node, entered, waiting, passed, "left", parked, next_wake_at, hour_from, hour_moved, hour_parked)
        SELECT c.customer, c.automation, c.version, c.node, c.entered, c.waiting, c.passed, c."left", c.parked, c."nextWakeAt", now(), c.moved, c.failed
          FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
            AS c (customer bigint, automation bigint, version int, node text, entered bigint, waiting bigint, passed bigint, "left" bigint, parked bigint,
                  "nextWakeAt" timestamptz, moved bigint, failed bigint)
         ORDER BY c.customer, c.automation, c.version, c.node COLLATE "C"
        ON CONFLICT (customer_id, automation_id, version, node) DO UPDATE
          SET entered = n.entered + excluded.entered, waiting = n.waiting + excluded.waiting, passed = n.passed + excluded.passed,
              "left" = n."left" + excluded."left", parked = n.parked + excluded.parked,
              next_wake_at = least(n.next_wake_at, excluded.next_wake_at),
              hour_from = CASE WHEN ${isSameHour} THEN n.hour_from ELSE excluded.hour_from END,
              hour_moved = CASE WHEN ${isSameHour} THEN n.hour_moved ELSE 0 END + excluded.hour_moved,
              hour_parked = CASE WHEN ${isSameHour} THEN n.hour_parked ELSE 0 END + excluded.hour_parked`,
    'automations.count',
  );
  for (const { key, change } of changes) {
    if (change.lateDone > 0) await addLateDone(tx, key, change);
    if (change.failed > 0) await pauseIfFailing(tx, key);
  }
}

const isSameHour = sql`(n.hour_from > now() - interval '1 hour')`;

/** The choice may have been replaced by another one meanwhile. */
async function addLateDone(
  tx: Transaction,
  { customerId, automationId, version, node }: NodeKey,
  { lateDone, lateFrom }: NodeChange,
): Promise<void> {
  await tx.execute(
    sql`UPDATE hot.flow_node SET late_done = late_done + ${lateDone}::int
         WHERE customer_id = ${customerId} AND automation_id = ${automationId} AND version = ${version} AND node = ${node} AND late_from = ${lateFrom}`,
    'automations.late_done',
  );
}

const PAUSED_ROW = row({ moved: 'int', parked: 'int' });

async function pauseIfFailing(tx: Transaction, { customerId, automationId, version, node }: NodeKey): Promise<void> {
  const [paused] = await tx.query(
    PAUSED_ROW,
    sql`UPDATE hot.flow_node SET paused_at = now()
         WHERE customer_id = ${customerId} AND automation_id = ${automationId} AND version = ${version} AND node = ${node} AND paused_at IS NULL
           AND hour_parked >= ${PARKED_MIN} AND hour_parked > hour_moved * ${PARKED_SHARE_MAX}::float8
        RETURNING hour_moved::int AS moved, hour_parked::int AS parked`,
  );
  if (!paused) return;
  const names = { customerId: String(customerId), automationId: String(automationId), version, node };
  await enqueue(tx, pausedNodeMailJob, { ...names, ...paused });
}
