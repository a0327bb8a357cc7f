/** Where a live test of a flow stands (D91). It is no run, but the engine's own work takes it as one. Pure. */
import { firstNode, type LiveFlow } from '../runs/live-flow.ts';
import { placeAt } from '../runs/place-at.ts';
import type { Passes, Place, Run, RunPerson } from '../runs/run.ts';
import type { Zones } from '../runs/zones.ts';

/** Where a test stands. Times are ISO 8601. */
export interface FlowTestState {
  readonly node: string;
  /** When the virtual clock is at the end of the wait; null: it waits without end. */
  readonly wakeAt: string | null;
  readonly enteredAt: string;
  readonly since: string;
  readonly passes: Passes | null;
  readonly hasLeft: boolean;
  readonly status: string;
  readonly fields: Readonly<Record<string, string>>;
}

interface Beginning {
  readonly live: LiveFlow;
  readonly zones: Zones;
  readonly fields: RunPerson['fields'];
  readonly now: Date;
}

/** At the first node; undefined: the flow has none. */
export function firstState({ live, zones, fields, now }: Beginning): FlowTestState | undefined {
  const first = firstNode(live);
  if (!first) return undefined;
  const place = placeAt(first, { live, zones, now, person: { status: 'subscribed', isSuppressed: false, fields } });
  const passes = live.repeated.has(first.id) ? { [first.id]: 1 } : null;
  const begun = { enteredAt: now.toISOString(), since: now.toISOString(), passes, hasLeft: false };
  return { ...stateAt(place), ...begun, status: 'subscribed', fields };
}

export function stateAt({ node, wakeAt }: Place): Pick<FlowTestState, 'node' | 'wakeAt'> {
  return { node, wakeAt: wakeAt?.toISOString() ?? null };
}

export function personOf({ status, fields }: FlowTestState): RunPerson {
  return { status, isSuppressed: false, fields };
}

/** The test as the engine's own work takes it. No run has such an id: no mail, open or click is of this one. */
export function runOf(id: bigint, subscriberId: bigint | null, state: FlowTestState): Run {
  const enteredAt = new Date(state.enteredAt);
  return {
    ...{ id: -id, personId: subscriberId ?? 0n, enteredAt, since: new Date(state.since) },
    ...{ eventsFrom: enteredAt, eventsAfter: 0n, depth: 0, failures: 0, entryKey: '' },
    ...{ hasLeft: state.hasLeft, reason: null, passes: state.passes, steps: 0 },
  };
}
