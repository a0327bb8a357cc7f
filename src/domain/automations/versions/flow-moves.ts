/**
 * Moves of people to a version that is being published (D84): where they go from nodes that it has not, as somebody has said it. A node keeps its
 * id: who is at one that the version has, with the same type of work, stays there without being named.
 */
import { FAULTS_SHOWN_MAX, type NodeTargets } from './checked-moves.ts';
import { flowFault, type FlowFault } from '../flow/flow-fault.ts';
import type { FlowNode } from '../flow/flow-nodes.ts';
import type { Flow } from '../flow/flow.ts';

/** People of an earlier version who are at one node. */
export interface PeopleAt {
  readonly version: number;
  readonly node: string;
  readonly waiting: number;
  readonly parked: number;
}

/** Where somebody goes from the node; undefined: nobody has said it. `type`: that of the node in the version before. */
export function targetOf(
  nodes: ReadonlyMap<string, FlowNode>,
  moves: NodeTargets,
  { node, type }: { readonly node: string; readonly type: FlowNode['type'] | undefined },
): FlowNode | undefined {
  if (Object.hasOwn(moves, node)) return nodes.get(moves[node] ?? '');
  const same = nodes.get(node);
  return same?.type === type ? same : undefined;
}

export interface MovesQuestion {
  readonly flow: Flow;
  readonly moves: NodeTargets;
  /** Nodes with people who are to be moved, with the types that they have there. */
  readonly occupied: readonly (PeopleAt & { readonly type: FlowNode['type'] | undefined })[];
  /** Nodes that people have come to in any version. */
  readonly known: ReadonlySet<string>;
}

/** What is wrong with the moves: each node without a target, each target that is no node. */
export function moveFaults({ flow, moves, occupied, known }: MovesQuestion): readonly FlowFault[] {
  const nodes = new Map(flow.nodes.map((one) => [one.id, one]));
  const strange = Object.entries(moves).flatMap(([from, to]) => {
    const own = nodes.has(to)
      ? []
      : [flowFault('unknown_target', `The flow has no node “${to}”: name one that it has.`, from, 'moves')];
    if (known.has(from) || nodes.has(from)) return own;
    return [
      ...own,
      flowFault('unknown_node', 'Nobody has come to a node with this id: look for it in the counts.', from, 'moves'),
    ];
  });
  const without = new Map(
    occupied.flatMap((place) => {
      if (Object.hasOwn(moves, place.node) || targetOf(nodes, moves, place)) return [];
      const message = nodes.has(place.node)
        ? 'The node does other work now, and people are at it: name the node that they go to, which may be this one.'
        : 'The flow has this node no more, and people are at it: name the node that they go to.';
      return [[place.node, flowFault('no_target', message, place.node, 'moves')] as const];
    }),
  );
  return [...strange, ...without.values()].slice(0, FAULTS_SHOWN_MAX);
}
