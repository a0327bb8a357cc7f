/** Who would be moved to a version of a flow: the nodes of earlier versions at which people are, and where they would go (D84). */
import type { TransactionContext } from '../../context.ts';
import type { Automation } from '../automation.ts';
import { isLiveFlow } from '../automation-store.ts';
import { knownNodes, occupiedNodes } from '../runs/count-read-model.ts';
import type { FlowFault } from '../flow/flow-fault.ts';
import type { NodeTargets } from './checked-moves.ts';
import { moveFaults, targetOf, type PeopleAt } from './flow-moves.ts';
import type { Flow } from '../flow/flow.ts';
import { liveFlow, type LiveFlow } from '../runs/live-flow.ts';

export interface NodeMove extends PeopleAt {
  /** The node they would go to; null: nobody has said it. */
  readonly to: string | null;
}

export interface JudgedMoves {
  readonly nodes: readonly NodeMove[];
  readonly faults: readonly FlowFault[];
}

export interface AskedMove {
  readonly flow: Flow;
  readonly moves: NodeTargets;
  readonly moveParked: boolean;
}

/** Changes nothing. When the flow is live already, its own people are where they belong. */
export async function judgeMoves(
  ctx: TransactionContext,
  automation: Automation,
  { flow, moves, moveParked }: AskedMove,
): Promise<JudgedMoves> {
  const { customerId, id: automationId, liveVersion } = automation;
  const key = { customerId, automationId };
  const isLive = liveVersion !== null && (await isLiveFlow(ctx.db, automation, flow));
  const people = await occupiedNodes(ctx.db, key, isLive ? liveVersion : null);
  const graphs = new Map<number, LiveFlow['graph'] | undefined>();
  for (const version of new Set(people.map((place) => place.version)))
    graphs.set(version, (await liveFlow(ctx, { ...key, version }))?.graph);
  const occupied = people.map((place) => ({
    ...place,
    type: graphs.get(place.version)?.nodes.get(place.node)?.type,
  }));
  const nodes = new Map(flow.nodes.map((one) => [one.id, one]));
  return {
    nodes: occupied.map(({ type, ...place }) => ({
      ...place,
      to: targetOf(nodes, moves, { node: place.node, type })?.id ?? null,
    })),
    faults: moveFaults({
      ...{ flow, moves, known: await knownNodes(ctx.db, key) },
      occupied: occupied.filter(({ waiting }) => moveParked || waiting > 0),
    }),
  };
}
