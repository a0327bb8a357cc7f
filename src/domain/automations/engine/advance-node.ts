/**
 * Moves people on who are due at one node: its work and that of the nodes after it, their next places, history and counts, in one transaction
 * (D88). What dies in the middle has not happened; what has committed is not repeated.
 */
import { inTransaction, type Context, type TransactionContext } from '../../context.ts';
import type { AnswersByQuestion, SegmentRule } from '../../audience/segments/segment.ts';
import { setFlowDepths } from '../../../events/person-event-store.ts';
import { messageOf } from '../../../lib/errors.ts';
import type { Transaction } from '../../../db/database.ts';
import { movesOfBatch } from './batch-work.ts';
import { questionsOf } from '../flow/flow-condition.ts';
import type { FlowNode } from '../flow/flow-nodes.ts';
import { liveFlow, type LiveFlow } from '../runs/live-flow.ts';
import { nodesAhead, readsPayload } from './nodes-ahead.ts';
import type { Cursor, DueRun, Move, NodeKey, DueNode } from '../runs/run.ts';
import { releasedAt, requestOf, type LateRuns } from '../runs/late-runs.ts';
import { countLate } from '../runs/node-count-store.ts';
import { nodeState, storeNextRelease, storeNextWake, tryNode } from '../runs/node-store.ts';
import { oneByOne } from './one-by-one.ts';
import { postponeNode } from './postpone-node.ts';
import { readyAnswers } from '../work/rule-answers.ts';
import { findByKeys, lockDue, moveRuns } from '../runs/run-store.ts';
import { zonesOfList } from '../runs/version-read-model.ts';
import { fireForArrivals } from '../work/fire-webhooks.ts';
import { rulesOfWaysOut } from './ways-out.ts';

/** One transaction of some 100 ms. */
export const RUNS_AT_ONCE = 1_000;

/** So many transactions for one run each follow a failed batch, some 500 ms: then it is the turn of others. */
const ALONE_MAX = 50;

export interface Advanced {
  readonly moved: number;
  /** More of the node may be due. */
  readonly next: DueNode | undefined;
}

/** Repeating is harmless. While a plugin is asked, nobody is moved. */
export async function advanceNode(ctx: Context, { key, after }: DueNode, now: Date): Promise<Advanced> {
  const live = await liveFlow(ctx, key);
  const node = live?.graph.nodes.get(key.node);
  if (!live || !node) throw new Error('The version of the flow, or its node, is gone.');
  const answers = await answersFor(ctx, { key, live, node, now });
  // Others go on meanwhile: the next look finds the node again.
  if (!answers) return NOTHING;
  const step = { live, node, now, answers };
  const ahead = nodesAhead(live, node);
  const whole = { ...step, after, max: RUNS_AT_ONCE };
  // What fails further on is tried there again.
  for (const batch of ahead.size > 0 ? [{ ...whole, ahead }, whole] : [whole])
    try {
      return await inTransaction(ctx, (tx) => moveDue(tx, key, batch));
    } catch (error) {
      ctx.log.warn('automations.step_failed', { ...key, message: messageOf(error) });
    }
  const alone = { key, now, tries: ALONE_MAX };
  const done = await oneByOne(ctx, alone, (tx, onFound) => moveDue(tx, key, { ...step, max: 1, onFound }));
  return { moved: done.moved, next: done.isAll ? undefined : { key } };
}

interface Step {
  readonly live: LiveFlow;
  readonly node: FlowNode;
  readonly now: Date;
  readonly answers: AnswersByQuestion;
}

/** Plugins are asked outside of transactions. Undefined: they are being asked. */
function answersFor(
  ctx: Context,
  { key, live, node, now }: Omit<Step, 'answers'> & { readonly key: NodeKey },
): Promise<AnswersByQuestion | undefined> {
  return readyAnswers(ctx, live, {
    rules: rulesAskedBy(live, node),
    asker: `node ${key.automationId} ${key.version} ${key.node}`,
    onFailure: (error) => postponeNode(ctx, key, { error, now }),
  });
}

function rulesAskedBy(live: LiveFlow, node: FlowNode): readonly SegmentRule[] {
  if (node.type === 'send_mail') return rulesOfWaysOut(live);
  if (node.type !== 'condition') return [];
  return questionsOf(node.if).flatMap((one) => ('person' in one ? [one.person] : []));
}

const NOTHING: Advanced = { moved: 0, next: undefined };
/** Comes after all others of its time. */
const RUN_ID_MAX = 2n ** 63n - 1n;

interface Batch extends Step {
  readonly max: number;
  /** Nodes whose work may follow in the same transaction; absent: none. */
  readonly ahead?: ReadonlySet<FlowNode>;
  readonly after?: Cursor | undefined;
  readonly onFound?: (run: DueRun) => void;
}

async function moveDue(ctx: TransactionContext, key: NodeKey, batch: Batch): Promise<Advanced> {
  const { live, node, now, max } = batch;
  const state = (await tryNode(ctx.tx, key)) ? await nodeState(ctx.db, key) : undefined;
  // It may have been stopped since it was found: nobody is moved from then on.
  if (state?.status !== 'active' || state.paused.has(key.node)) return NOTHING;
  await findByKeys(ctx.tx);
  const zones = await zonesOfList(ctx.db, { customerId: key.customerId, listId: live.listId });
  if (!zones) return NOTHING;
  const ahead = new Set([...(batch.ahead ?? [])].filter(({ id }) => !state.paused.has(id)));
  const { due, isLate } = await lockNext(ctx.tx, key, { ...batch, late: state.late, ahead });
  if (due.length === 1 && due[0]) batch.onFound?.(due[0]);
  // What the node does to people happens one flow deeper (D83).
  await setFlowDepths(ctx.db, new Map(due.map(({ personId, depth }) => [personId, depth + 1])));
  const moves = due.length > 0 ? await movesOfBatch(ctx, { ...batch, node, zones, ahead }, due) : [];
  refuseStanding(moves, now);
  await moveRuns(ctx.tx, key, { moves, now });
  await fireForArrivals(ctx, live, moves);
  const last = due.length < max ? undefined : due.at(-1);
  const next = isLate ? { key } : last && { key, after: { wakeAt: last.wakeAt, id: last.id } };
  // What has come before the cursor meanwhile makes the node due again.
  if (next && max > 1) return { moved: due.length, next };
  if (state.late)
    await storeNextRelease(ctx.tx, key, { ...state.late, done: state.late.done + (isLate ? due.length : 0) });
  else await storeNextWake(ctx.tx, key);
  return { moved: due.length, next };
}

/** Who is left due where they were would be found again for ever: that is a failure like others, tried again later, and parked after some times (D88). */
function refuseStanding(moves: readonly Move[], now: Date): void {
  const isStanding = ({ what, to }: Move) => what === 'stays' && !!to?.wakeAt && to.wakeAt <= now;
  if (moves.some(isStanding)) throw new Error('The step left the person due at the same node.');
}

interface Next extends Batch {
  readonly late: LateRuns | null;
  readonly ahead: ReadonlySet<FlowNode>;
}

/** Of a flow that went on after a pause first those that were late then, as many as may go by now (D85). */
async function lockNext(
  tx: Transaction,
  key: NodeKey,
  { live, node, now, max, after, late, ahead }: Next,
): Promise<{ readonly due: readonly DueRun[]; readonly isLate: boolean }> {
  const question = { listId: live.listId, until: now, max, after, withPayload: [node, ...ahead].some(readsPayload) };
  if (!late) return { due: await lockDue(tx, key, question), isLate: false };
  const mayGo = Math.min(max, releasedAt(late, now));
  const some =
    mayGo > 0 ? await lockDue(tx, key, { ...question, until: late.until, max: mayGo, after: undefined }) : [];
  if (some.length > 0) {
    countLate(tx, key, { runs: some.length, from: late.from });
    return { due: some.map((run) => ({ ...run, reason: run.reason ?? requestOf(late) })), isLate: true };
  }
  const isAfterLate = after && after.wakeAt > late.until;
  const others = isAfterLate ? after : { wakeAt: late.until, id: RUN_ID_MAX };
  return { due: await lockDue(tx, key, { ...question, after: others }), isLate: false };
}
