/** Waits for a date: when the field with the date changes, or the person's time zone, the node looks at once when the wait ends now (D76). Pure. */
import type { FlowEvent } from '../flow/open-or-click.ts';
import type { AwaitingRun } from '../runs/awaiting-run-store.ts';
import type { FlowNode } from '../flow/flow-nodes.ts';
import type { LiveFlow } from '../runs/live-flow.ts';
import type { Outcome } from '../work/node-work.ts';
import type { Zones } from '../runs/zones.ts';

interface Happened {
  readonly events: readonly FlowEvent[];
  /** Its row is locked, so no step of it is on its way. */
  readonly isHeld: boolean;
  readonly zones: Zones;
  readonly now: Date;
}

/** A run that is not held may be on its way to such a node: it is locked, and looked at again. */
export function wakeForDate(
  { graph }: LiveFlow,
  run: AwaitingRun,
  { events, isHeld, zones, now }: Happened,
): Outcome | undefined {
  const fields = new Set(events.flatMap(changedFields));
  if (fields.size === 0) return undefined;
  const isConcerned = (node: FlowNode | undefined): boolean =>
    node?.type === 'wait_until' &&
    ((node.field !== undefined && fields.has(node.field)) || (zones.tag !== null && fields.has(zones.tag)));
  if (!isHeld) return [...graph.nodes.values()].some(isConcerned) ? { waitUntil: now } : undefined;
  const waits = run.isWaiting && run.wakeAt !== null && run.wakeAt > now;
  return waits && isConcerned(graph.nodes.get(run.node)) ? { waitUntil: now } : undefined;
}

/** Whether a change of the person's date or zone may move the end of the wait at this node. */
export function waitsForDate(node: FlowNode | undefined, zones: Zones): boolean {
  return node?.type === 'wait_until' && (node.field !== undefined || zones.tag !== null);
}

function changedFields({ kind, data }: FlowEvent): readonly string[] {
  const fields = kind === 'changed' ? data?.['fields'] : undefined;
  return Array.isArray(fields) ? fields.filter((one) => typeof one === 'string') : [];
}
