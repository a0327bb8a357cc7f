/** What an outcome makes of a run: the step in its history, and where it stands then. Pure. */
import { doneBehind, isDoneBefore } from './done-before.ts';
import type { FlowNode, NodeType } from '../flow/flow-nodes.ts';
import type { LiveFlow } from './live-flow.ts';
import { PASSED_OVER, type Outcome } from '../work/node-work.ts';
import { placeAt } from './place-at.ts';
import type { DueRun, Move, Passes, Run, RunPerson } from './run.ts';

/** Undefined: the run goes on. */
export function whyGone({ person, hasLeft }: Pick<DueRun, 'person' | 'hasLeft'>): string | undefined {
  if (!person) return 'deleted';
  if (hasLeft) return undefined;
  if (person.status !== 'subscribed') return person.status;
  return person.isSuppressed ? 'suppressed' : undefined;
}

/** The person as the node leaves it, by its work or passed over: what follows goes by that. */
export function personAfter(
  node: FlowNode,
  { person, reason }: { readonly person: RunPerson; readonly reason: Move['reason'] },
): RunPerson {
  if (isPassedOver(reason)) return person;
  if (node.type === 'unsubscribe' && person.status === 'subscribed') return { ...person, status: 'unsubscribed' };
  if (node.type !== 'set_field') return person;
  const { [node.field]: _before, ...others } = person.fields;
  return { ...person, fields: node.value === '' ? others : { ...others, [node.field]: node.value } };
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
  // Passes of an earlier version are kept, as mails have their numbers; they bar only a way round.
  if (arrival.live.repeated.has(next.id) && timesAt(passes, next.id) > arrival.live.flow.passesMax)
    return { ...still, what: 'left', reason: 'too_many_passes' };
  const isLeaving = LEAVING.includes(node.type) && outcome.go === 'next' && !isPassedOver(step.reason);
  const coming = { ...run, passes, hasLeft: run.hasLeft || isLeaving, done: doneBehind(node, run) };
  return {
    ...still,
    ...step,
    run: coming,
    what: 'passed',
    // What was done before does not wait, either.
    to: isDoneBefore(next, coming)
      ? { node: next.id, state: 'due', wakeAt: arrival.now }
      : placeAt(next, { ...arrival, person: personAfter(node, { ...step, person: arrival.person }) }),
  };
}

function isPassedOver(reason: Move['reason']): boolean {
  return reason === PASSED_OVER.doneBefore || reason === PASSED_OVER.skipped;
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
