/**
 * What becomes of a run that is moved to another version of its flow (D84): its place there, with the time that it has waited already, and what it
 * need not do again. Pure.
 */
import { isDeepStrictEqual } from 'node:util';
import { doneAfter, hasNode, isDoneBefore } from '../runs/done-before.ts';
import type { FlowNode, NodeType } from '../flow/flow-nodes.ts';
import type { LiveFlow } from '../runs/live-flow.ts';
import { placeAt } from '../runs/place-at.ts';
import { RUN_REQUESTS, type MovedPlace, type Passes, type Run, type RunPerson } from '../runs/run.ts';
import type { Zones } from '../runs/zones.ts';

/** A run where it is, whatever its version. */
export interface PlacedRun extends Run {
  readonly version: number;
  readonly node: string;
  readonly state: MovedPlace['state'];
  readonly wakeAt: Date | null;
}

export interface MovedRun {
  readonly run: Run;
  readonly from: { readonly version: number; readonly node: string };
  readonly to: MovedPlace;
  /** It was at this node already. */
  readonly isThere: boolean;
}

export interface Moving {
  /** The version that it is in. */
  readonly before: LiveFlow;
  /** The version to which it goes. */
  readonly live: LiveFlow;
  readonly target: FlowNode;
  /** Nodes whose work was done for the run. */
  readonly worked: readonly FlowNode[];
  /** Null: the person is not on the list any more. */
  readonly person: RunPerson | null;
  readonly zones: Zones;
  readonly now: Date;
}

export function movedRun(run: PlacedRun, moving: Moving): MovedRun {
  const { before, live, target, worked, now } = moving;
  const { version, node, state, wakeAt, ...rest } = run;
  const isThere = node === target.id && hasNode(before, target);
  // Who was about to pass over it is so still.
  const atWork = isThere && !isDoneBefore(target, run) ? target : undefined;
  const done = doneAfter(run, { worked, atWork, before, live });
  const coming = { ...rest, done, passes: passesAt(target.id, run, { live, isThere }) };
  const isSame = isThere && isUnchanged(before, live, target);
  const place = isSame ? { node, state, wakeAt } : placeIn(coming, { state, wakeAt }, moving);
  const isWaiting = place.state === 'waiting' && (place.wakeAt === null || place.wakeAt > now);
  const staysAsked = !isWaiting && (isThere || run.reason === RUN_REQUESTS.skipMails);
  const arrives = !isThere && !WAITING.has(target.type) && state !== 'parked';
  return {
    run: {
      ...coming,
      ...{ since: arrives ? now : run.since, failures: isThere ? run.failures : 0 },
      // Who waits in the new version is late no more.
      reason: state === 'parked' || staysAsked ? run.reason : null,
    },
    ...{ from: { version, node }, to: place, isThere },
  };
}

/** The time that somebody has waited counts where they wait on. */
const WAITING: ReadonlySet<NodeType> = new Set(['wait', 'wait_until', 'wait_for_event', 'api_call'] as const);

/** What a wait reads of the flow are its holidays. */
function isUnchanged(before: LiveFlow, live: LiveFlow, target: FlowNode): boolean {
  return (
    isDeepStrictEqual(before.graph.nodes.get(target.id), target) &&
    (target.type !== 'wait' || isDeepStrictEqual(before.flow.holidays, live.flow.holidays))
  );
}

/**
 * A wait ends when it would have if it had begun as it is now. Who waits for a date of a field is at work first: it may have changed while the
 * run was moved (D76). Who is late stays late: when the flow goes on, it is asked what becomes of them (D85).
 */
function placeIn(
  run: Run,
  { state, wakeAt }: Pick<PlacedRun, 'state' | 'wakeAt'>,
  { live, target, person, zones, now }: Moving,
): MovedPlace {
  const due = { node: target.id, state: 'due', wakeAt: wakeAt !== null && wakeAt < now ? wakeAt : now } as const;
  if (state === 'parked') return { node: target.id, state, wakeAt: null };
  if (!person || isDoneBefore(target, run)) return due;
  if (target.type === 'wait_until' && target.field !== undefined) return due;
  const place = placeAt(target, { live, zones, person, now: run.since });
  return place.state === 'waiting' && (place.wakeAt === null || place.wakeAt > now) ? place : due;
}

/** Coming to a node of a way round is a pass of it. */
function passesAt(
  node: string,
  { passes }: Pick<Run, 'passes'>,
  { live, isThere }: { readonly live: LiveFlow; readonly isThere: boolean },
): Passes | null {
  if (!live.repeated.has(node)) return passes;
  const times = passes && Object.hasOwn(passes, node) ? (passes[node] ?? 0) : 0;
  return { ...passes, [node]: isThere ? Math.max(1, times) : times + 1 };
}
