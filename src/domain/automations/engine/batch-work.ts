/**
 * What becomes of the due runs of a node: those who have left go, the others do the node's work; and whom that leads to a node whose work
 * is done at once goes on in the same transaction. So a run's row is written once for all of it, and not once for each node.
 */
import type { AnswersByQuestion } from '../../audience/segments/segment.ts';
import { lockPeople, movedAmong } from '../../audience/people-store.ts';
import type { TransactionContext } from '../../context.ts';
import { askedOutcome } from './asked-outcome.ts';
import type { FlowNode } from '../flow/flow-nodes.ts';
import type { LiveFlow } from '../runs/live-flow.ts';
import { moveOf, personAfter, whyGone } from '../runs/move-of.ts';
import { changesPeople } from './nodes-ahead.ts';
import type { PresentRun } from '../work/node-work.ts';
import { RUN_REQUESTS, type DueRun, type Move } from '../runs/run.ts';
import { reasonsToLeave } from './ways-out.ts';
import { workOfNode } from '../work/work-of-node.ts';
import type { Zones } from '../runs/zones.ts';

/** So many follow in one transaction, which others wait for (D89). */
const NODES_AFTER_MAX = 8;

export interface Batch {
  readonly live: LiveFlow;
  readonly node: FlowNode;
  readonly zones: Zones;
  readonly now: Date;
  /** Of plugins, to the questions of the node. */
  readonly answers: AnswersByQuestion;
  /** Nodes whose work may follow in the same transaction (`nodesAhead`). */
  readonly ahead: ReadonlySet<FlowNode>;
}

/** The moves of these runs, in their order: several of a run that goes on. Their rows are held by this transaction. */
export async function movesOfBatch(
  ctx: TransactionContext,
  batch: Batch,
  due: readonly DueRun[],
): Promise<readonly Move[]> {
  const { live, node, ahead } = batch;
  // Two statements that lock the same people in parts would wait for those of another flow, and these for them.
  if ([node, ...ahead].filter(changesPeople).length > 1) await lockPeople(ctx.db, peopleOf(live, due));
  const moves: Move[] = [];
  const waiting = new Map<FlowNode, readonly DueRun[]>([[node, due]]);
  for (let nodes = 0; nodes <= NODES_AFTER_MAX; nodes++) {
    const [next] = waiting;
    if (!next) break;
    const [at, runs] = next;
    waiting.delete(at);
    const known = new Map(runs.map((run) => [run.id, run]));
    for (const move of await movesOf(ctx, { ...batch, node: at }, runs)) {
      moves.push(move);
      const further = goingOn(move, known.get(move.run.id), { ...batch, node: at });
      if (further) waiting.set(further.node, [...(waiting.get(further.node) ?? []), further.run]);
    }
  }
  return withLast(moves);
}

/** Of each run, all moves but the last are followed by another. */
function withLast(moves: readonly Move[]): readonly Move[] {
  const last = new Map(moves.map((move) => [move.run.id, move]));
  return moves.map((move) => (last.get(move.run.id) === move ? move : { ...move, goesOn: true }));
}

/** The run as it comes to a node whose work may follow now; undefined: it does not. */
function goingOn(
  { run, to, what, reason: way }: Move,
  before: DueRun | undefined,
  { live, node, now, ahead }: Batch,
): { readonly node: FlowNode; readonly run: DueRun } | undefined {
  const target = to?.state === 'due' && what === 'passed' ? live.graph.nodes.get(to.node) : undefined;
  if (!target || !before?.person || !ahead.has(target)) return undefined;
  const reason = run.reason === RUN_REQUESTS.skipMails ? run.reason : null;
  const { payload, person } = before;
  return {
    node: target,
    run: {
      ...run,
      since: now,
      wakeAt: now,
      failures: 0,
      reason,
      payload,
      person: personAfter(node, { person, reason: way }),
    },
  };
}

function peopleOf({ key: { customerId }, listId }: LiveFlow, runs: readonly DueRun[]) {
  return { customerId, listId, ids: [...new Set(runs.map(({ personId }) => personId))] };
}

/** Who has left the list, or may get no mail any more, leaves the flow; the others do the node's work. */
async function movesOf(
  ctx: TransactionContext,
  { live, node, zones, now, answers }: Batch,
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
