/** Where a person stands who comes to a node: at work now, or waiting until a time. Pure. */
import type { FlowNode } from '../flow/flow-nodes.ts';
import type { LiveFlow } from './live-flow.ts';
import { zoneOf, type Zones } from './zones.ts';
import type { Place, RunPerson } from './run.ts';
import { endOf, endOfWait, endOfWaitUntil, type WaitFrom } from '../flow/wake-time.ts';

export interface Arrival {
  readonly live: LiveFlow;
  readonly zones: Zones;
  readonly person: RunPerson;
  readonly now: Date;
}

export function placeAt(node: FlowNode, arrival: Arrival): Place {
  const wakeAt = wakeTimeAt(node, arrival);
  if (wakeAt === 'now') return { node: node.id, state: 'due', wakeAt: arrival.now };
  return { node: node.id, state: 'waiting', wakeAt };
}

/** Null: it waits without end. */
function wakeTimeAt(node: FlowNode, { live, zones, person, now }: Arrival): Date | 'now' | null {
  const from = { since: now.getTime(), zone: zoneOf(zones, person) };
  switch (node.type) {
    case 'wait':
      return new Date(endOfWaitIn(node, from, live.flow.holidays));
    case 'wait_until': {
      const end = endOfWaitUntil(node, from, node.field === undefined ? undefined : person.fields[node.field]);
      return 'at' in end && end.at > now.getTime() ? new Date(end.at) : 'now';
    }
    case 'api_call':
      return node.for === undefined ? null : new Date(endOf(node.for, from));
    default:
      return 'now';
  }
}

/** Many people come to a node at the same time: of each zone one is computed, which takes some 20 µs. Nodes of versions never change. */
const ends = new WeakMap<FlowNode, { readonly since: number; readonly byZone: Map<string, number> }>();

function endOfWaitIn(node: Extract<FlowNode, { type: 'wait' }>, from: WaitFrom, holidays: readonly string[]): number {
  const kept = ends.get(node);
  const known = kept?.since === from.since ? kept : { since: from.since, byZone: new Map<string, number>() };
  ends.set(node, known);
  const end = known.byZone.get(from.zone) ?? endOfWait(node, from, holidays);
  known.byZone.set(from.zone, end);
  return end;
}
