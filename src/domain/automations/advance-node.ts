/**
 * Moves people on who are due at one node: their work, their next places, history and counts, in one transaction (D88). What dies in the
 * middle has not happened; what has committed is not repeated.
 */
import { inTransaction, type Context, type TransactionContext } from '../context.ts';
import { answersTo } from '../audience/segments/ask-plugins.ts';
import type { AnswersByQuestion, SegmentRule } from '../audience/segments/segment.ts';
import { messageOf } from '../../lib/errors.ts';
import { questionsOf } from './flow-condition.ts';
import type { FlowNode } from './flow-nodes.ts';
import { liveFlow, type LiveFlow } from './live-flow.ts';
import type { Zones } from './zones.ts';
import type { Outcome, PresentRun } from './node-work.ts';
import { placeAt } from './place-at.ts';
import type { DueRun, Move, NodeKey, Passes } from './run.ts';
import { storeNextWake, tryNode } from './node-store.ts';
import { delayRuns, findByKeys, lockDue, moveRuns } from './run-store.ts';
import { zonesOfList } from './version-read-model.ts';
import { workOfNode } from './work-of-node.ts';

/** One transaction of some 100 ms. */
export const RUNS_AT_ONCE = 1_000;
/** A run that failed so often at a node is parked (D88). */
const FAILURES_MAX = 5;
const RETRY_MS = 60_000;

/** How many were moved. Repeating is harmless. */
export async function advanceNode(ctx: Context, key: NodeKey, now: Date): Promise<number> {
  const live = await liveFlow(ctx.db, key);
  const node = live?.graph.nodes.get(key.node);
  if (!live || !node) return 0;
  const answers = await answersFor(ctx, live, node);
  const step = { live, node, now, answers };
  try {
    return await inTransaction(ctx, (tx) => advanceDue(tx, key, { ...step, max: RUNS_AT_ONCE }));
  } catch (error) {
    ctx.log.warn('automations.step_failed', { ...named(key), message: messageOf(error) });
    return advanceOneByOne(ctx, key, step);
  }
}

interface Step {
  readonly live: LiveFlow;
  readonly node: FlowNode;
  readonly now: Date;
  readonly answers: AnswersByQuestion;
}

const NO_ANSWERS: AnswersByQuestion = new Map();

/** Plugins are asked outside of transactions. */
async function answersFor(ctx: Context, { key, listId }: LiveFlow, node: FlowNode): Promise<AnswersByQuestion> {
  if (node.type !== 'condition') return NO_ANSWERS;
  const rules = questionsOf(node.if).flatMap((one) => ('person' in one ? [one.person] : []));
  const [first, ...more] = rules;
  if (!first) return NO_ANSWERS;
  const rule: SegmentRule = { all: [first, ...more] };
  return answersTo(ctx, { customerId: key.customerId, listId, rule });
}

/** What fails together is tried alone: one run that cannot be moved holds nobody up. */
async function advanceOneByOne(ctx: Context, key: NodeKey, step: Step): Promise<number> {
  let moved = 0;
  const skipped: bigint[] = [];
  for (let tries = 0; tries < RUNS_AT_ONCE; tries++) {
    const tried: { run?: DueRun } = {};
    try {
      const count = await inTransaction(ctx, (tx) =>
        advanceDue(tx, key, { ...step, max: 1, onFound: (run) => void (tried.run = run) }),
      );
      if (count === 0) break;
      moved += count;
    } catch (error) {
      if (!tried.run) throw error;
      skipped.push(tried.run.id);
      await giveTime(ctx, key, step, { run: tried.run, message: messageOf(error) });
    }
  }
  if (skipped.length > 0) ctx.log.warn('automations.runs_failed', { ...named(key), runs: skipped.length });
  return moved;
}

/** A run that failed comes again later, and is parked after the fifth time. */
async function giveTime(
  ctx: Context,
  key: NodeKey,
  { now }: Step,
  { run, message }: { run: DueRun; message: string },
): Promise<void> {
  if (run.failures + 1 < FAILURES_MAX) {
    const wakeAt = new Date(now.getTime() + RETRY_MS * 2 ** run.failures);
    return delayRuns(ctx.db, key, { ids: [run.id], wakeAt });
  }
  const move: Move = {
    ...{ run, from: key.node, what: 'parked', port: null, reason: 'failed', to: null },
    details: { message: message.slice(0, MESSAGE_MAX) },
  };
  await inTransaction(ctx, (tx) => moveRuns(tx.tx, key, { moves: [move], now }));
}

const MESSAGE_MAX = 500;

function named({ customerId, automationId, version, node }: NodeKey) {
  return { customerId, automationId, version, node };
}

interface Batch extends Step {
  readonly max: number;
  readonly onFound?: (run: DueRun) => void;
}

async function advanceDue(ctx: TransactionContext, key: NodeKey, batch: Batch): Promise<number> {
  const { live, node, now, max } = batch;
  if (!(await tryNode(ctx.tx, key))) return 0;
  await findByKeys(ctx.tx);
  const zones = await zonesOfList(ctx.db, { customerId: key.customerId, listId: live.listId });
  if (!zones) return 0;
  const withPayload = node.type === 'condition';
  const due = await lockDue(ctx.tx, key, { listId: live.listId, now, max, withPayload });
  if (due.length === 1 && due[0]) batch.onFound?.(due[0]);
  if (due.length > 0) await moveRuns(ctx.tx, key, { moves: await movesOf(ctx, batch, zones, due), now });
  if (due.length < max || max === 1) await storeNextWake(ctx.tx, key);
  return due.length;
}

/** Who has left the list leaves the flow; the others do the node's work. */
async function movesOf(
  ctx: TransactionContext,
  { live, node, now, answers }: Batch,
  zones: Zones,
  due: readonly DueRun[],
): Promise<readonly Move[]> {
  const gone: Move[] = [];
  const present: PresentRun[] = [];
  for (const run of due) {
    const { person } = run;
    if (!person) gone.push(moveOf(node, run, { leave: 'deleted' }));
    else if (person.status !== 'subscribed' && !live.afterLeaving.has(node.id))
      gone.push(moveOf(node, run, { leave: person.status }));
    else present.push({ ...run, person });
  }
  if (present.length === 0) return gone;
  const outcomes = await workOfNode({ ctx, live, zones, node, runs: present, now, answers });
  const moves = present.map((run, no) => {
    const outcome = outcomes[no];
    if (!outcome) throw new Error(`The work of ${node.type} has no outcome for a run.`);
    return moveOf(node, run, outcome, { live, zones, person: run.person, now });
  });
  return [...gone, ...moves];
}

function moveOf(node: FlowNode, run: DueRun, outcome: Outcome, arrival?: Parameters<typeof placeAt>[1]): Move {
  const still = { run, from: node.id, port: null, reason: null, details: null, to: null };
  if ('leave' in outcome) return { ...still, what: outcome.leave === 'end' ? 'passed' : 'left', reason: outcome.leave };
  if ('park' in outcome) return { ...still, what: 'parked', reason: outcome.park };
  if ('waitUntil' in outcome)
    return { ...still, what: 'stays', to: { node: node.id, state: 'waiting', wakeAt: outcome.waitUntil } };
  const next = arrival?.live.graph.next(node.id, outcome.go);
  const step = { port: outcome.go, reason: outcome.reason ?? null, details: outcome.details ?? null };
  if (!next || !arrival) return { ...still, ...step, what: 'passed' };
  const passes = passesAt(next.id, run.passes, arrival.live);
  if ((passes?.[next.id] ?? 1) > arrival.live.flow.passesMax)
    return { ...still, what: 'left', reason: 'too_many_passes' };
  return { ...still, ...step, run: { ...run, passes }, what: 'passed', to: placeAt(next, arrival) };
}

/** Only nodes that are part of a way round are counted. */
function passesAt(node: string, passes: Passes | null, { repeated }: LiveFlow): Passes | null {
  if (!repeated.has(node)) return passes;
  return { ...passes, [node]: (passes?.[node] ?? 0) + 1 };
}
