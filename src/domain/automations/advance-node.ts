/**
 * Moves people on who are due at one node: their work, their next places, history and counts, in one transaction (D88). What dies in the
 * middle has not happened; what has committed is not repeated.
 */
import { inTransaction, type Context, type TransactionContext } from '../context.ts';
import type { AnswersByQuestion } from '../audience/segments/segment.ts';
import { movedAmong } from '../audience/people-store.ts';
import { setFlowDepths } from '../../events/person-event-store.ts';
import { messageOf } from '../../lib/errors.ts';
import { automationStatus } from './automation-store.ts';
import { questionsOf } from './flow-condition.ts';
import type { FlowNode, NodeType } from './flow-nodes.ts';
import { liveFlow, type LiveFlow } from './live-flow.ts';
import type { Zones } from './zones.ts';
import type { Outcome, PresentRun } from './node-work.ts';
import { placeAt } from './place-at.ts';
import type { Cursor, DueRun, Move, NodeKey, DueNode, Passes, Run } from './run.ts';
import { storeNextWake, tryNode } from './node-store.ts';
import { askedOutcome } from './asked-outcome.ts';
import { oneByOne } from './one-by-one.ts';
import { answersToRules } from './rule-answers.ts';
import { findByKeys, lockDue, moveRuns } from './run-store.ts';
import { zonesOfList } from './version-read-model.ts';
import { fireForArrivals } from './fire-webhooks.ts';
import { reasonsToLeave, rulesOfWaysOut } from './ways-out.ts';
import { workOfNode } from './work-of-node.ts';

/** One transaction of some 100 ms. */
export const RUNS_AT_ONCE = 1_000;

/** So many transactions for one run each follow a failed batch, some 500 ms: then it is the turn of others. */
const ALONE_MAX = 50;

export interface Advanced {
  readonly moved: number;
  /** More of the node may be due. */
  readonly next: DueNode | undefined;
}

/** Repeating is harmless. */
export async function advanceNode(ctx: Context, { key, after }: DueNode, now: Date): Promise<Advanced> {
  const live = await liveFlow(ctx, key);
  const node = live?.graph.nodes.get(key.node);
  if (!live || !node) throw new Error('The version of the flow, or its node, is gone.');
  const step = { live, node, now, answers: await answersFor(ctx, live, node) };
  try {
    return await inTransaction(ctx, (tx) => moveDue(tx, key, { ...step, after, max: RUNS_AT_ONCE }));
  } catch (error) {
    ctx.log.warn('automations.step_failed', { ...key, message: messageOf(error) });
    const alone = { key, now, tries: ALONE_MAX };
    const done = await oneByOne(ctx, alone, (tx, onFound) => moveDue(tx, key, { ...step, max: 1, onFound }));
    return { moved: done.moved, next: done.isAll ? undefined : { key } };
  }
}

/** A flow that is started gets the payload, too. */
const READING_PAYLOADS: readonly NodeType[] = ['condition', 'send_mail', 'start_flow'];

interface Step {
  readonly live: LiveFlow;
  readonly node: FlowNode;
  readonly now: Date;
  readonly answers: AnswersByQuestion;
}

const NO_ANSWERS: AnswersByQuestion = new Map();

/** Plugins are asked outside of transactions. */
async function answersFor(ctx: Context, live: LiveFlow, node: FlowNode): Promise<AnswersByQuestion> {
  if (node.type === 'send_mail') return answersToRules(ctx, live, rulesOfWaysOut(live));
  if (node.type !== 'condition') return NO_ANSWERS;
  const rules = questionsOf(node.if).flatMap((one) => ('person' in one ? [one.person] : []));
  return answersToRules(ctx, live, rules);
}

const NOTHING: Advanced = { moved: 0, next: undefined };

interface Batch extends Step {
  readonly max: number;
  readonly after?: Cursor | undefined;
  readonly onFound?: (run: DueRun) => void;
}

async function moveDue(ctx: TransactionContext, key: NodeKey, batch: Batch): Promise<Advanced> {
  const { live, node, now, max, after } = batch;
  // It may have been stopped since it was found: nobody is moved from then on.
  if (!(await tryNode(ctx.tx, key)) || (await automationStatus(ctx.db, key)) !== 'active') return NOTHING;
  await findByKeys(ctx.tx);
  const zones = await zonesOfList(ctx.db, { customerId: key.customerId, listId: live.listId });
  if (!zones) return NOTHING;
  const withPayload = READING_PAYLOADS.includes(node.type);
  const due = await lockDue(ctx.tx, key, { listId: live.listId, now, max, after, withPayload });
  if (due.length === 1 && due[0]) batch.onFound?.(due[0]);
  // What the node does to people happens one flow deeper (D83).
  await setFlowDepths(ctx.db, new Map(due.map(({ personId, depth }) => [personId, depth + 1])));
  const moves = due.length > 0 ? await movesOf(ctx, batch, zones, due) : [];
  await moveRuns(ctx.tx, key, { moves, now });
  await fireForArrivals(ctx, live, moves);
  const last = due.length < max ? undefined : due.at(-1);
  const next = last && { key, after: { wakeAt: last.wakeAt, id: last.id } };
  // What has come before the cursor meanwhile makes the node due again.
  if (!next || max === 1) await storeNextWake(ctx.tx, key);
  return { moved: due.length, next };
}

/** Who has left the list, or may get no mail any more, leaves the flow; the others do the node's work. */
async function movesOf(
  ctx: TransactionContext,
  { live, node, now, answers }: Batch,
  zones: Zones,
  due: readonly DueRun[],
): Promise<readonly Move[]> {
  const moved: Move[] = [];
  const present: PresentRun[] = [];
  const movedAway = await whoMovedAway(ctx, live, due);
  for (const run of due) {
    const { person } = run;
    const why = movedAway.has(run.personId) ? 'moved' : whyGone(run);
    if (why !== undefined || !person) {
      moved.push(moveOf(node, run, { leave: why ?? 'deleted' }));
      continue;
    }
    const arrival = { live, zones, person, now };
    const asked = askedOutcome(node, run, arrival);
    if (asked) moved.push(moveOf(node, run, asked, arrival));
    else present.push({ ...run, person });
  }
  if (present.length === 0) return moved;
  // A mail goes to nobody who has reached a goal or an exit meanwhile (D79).
  const reasons =
    node.type === 'send_mail'
      ? await reasonsToLeave(ctx, live, { runs: present, answers, now })
      : new Map<bigint, string>();
  for (const run of present) {
    const leave = reasons.get(run.id);
    if (leave !== undefined) moved.push(moveOf(node, run, { leave }));
  }
  const staying = present.filter(({ id }) => !reasons.has(id));
  if (staying.length === 0) return moved;
  const outcomes = await workOfNode({ ctx, live, zones, node, runs: staying, now, answers });
  const moves = staying.map((run, no) => {
    const outcome = outcomes[no];
    if (!outcome) throw new Error(`The work of ${node.type} has no outcome for a run.`);
    return moveOf(node, run, outcome, { live, zones, person: run.person, now });
  });
  return [...moved, ...moves];
}

/** Of those who are unsubscribed, who was moved to another list. */
function whoMovedAway(
  { db }: TransactionContext,
  { key, listId }: LiveFlow,
  due: readonly DueRun[],
): Promise<ReadonlySet<bigint>> {
  const ids = due.filter((run) => whyGone(run) === 'unsubscribed').map(({ personId }) => personId);
  return movedAmong(db, { customerId: key.customerId, listId, ids });
}

/** Undefined: the run goes on. */
export function whyGone({ person, hasLeft }: DueRun): string | undefined {
  if (!person) return 'deleted';
  if (hasLeft) return undefined;
  if (person.status !== 'subscribed') return person.status;
  return person.isSuppressed ? 'suppressed' : undefined;
}

export function moveOf(node: FlowNode, run: Run, outcome: Outcome, arrival?: Parameters<typeof placeAt>[1]): Move {
  const still = { run, from: node.id, port: null, reason: null, details: null, to: null };
  if ('leave' in outcome) return { ...still, what: outcome.leave === 'end' ? 'passed' : 'left', reason: outcome.leave };
  if ('park' in outcome) return { ...still, what: 'parked', reason: outcome.park };
  if ('waitUntil' in outcome)
    return {
      ...{ ...still, what: 'stays', reason: outcome.reason ?? null },
      to: { node: node.id, state: 'waiting', wakeAt: outcome.waitUntil },
    };
  const next = arrival?.live.graph.next(node.id, outcome.go);
  const step = { port: outcome.go, reason: outcome.reason ?? null, details: outcome.details ?? null };
  if (!next || !arrival) return { ...still, ...step, what: 'passed' };
  const passes = passesAt(next.id, run.passes, arrival.live);
  if (timesAt(passes, next.id) > arrival.live.flow.passesMax)
    return { ...still, what: 'left', reason: 'too_many_passes' };
  const hasLeft = run.hasLeft || (LEAVING.includes(node.type) && outcome.go === 'next');
  return { ...still, ...step, run: { ...run, passes, hasLeft }, what: 'passed', to: placeAt(next, arrival) };
}

/** By these a flow itself ends the subscription. */
const LEAVING: readonly NodeType[] = ['unsubscribe', 'move_to_list'];

/** Only nodes that are part of a way round are counted. */
function passesAt(node: string, passes: Passes | null, { repeated }: LiveFlow): Passes | null {
  if (!repeated.has(node)) return passes;
  return { ...passes, [node]: timesAt(passes, node) + 1 };
}

/** Ids of nodes are the caller's: only own names count. */
function timesAt(passes: Passes | null, node: string): number {
  return passes && Object.hasOwn(passes, node) ? (passes[node] ?? 0) : 0;
}
