/**
 * What was done for a person is not done again when the flow changes (D84): a node keeps its id, and its work is passed over by whom an earlier
 * version has led through it. Waits, and questions about the person, are no work: they are answered anew. Pure.
 */
import type { FlowNode, NodeType } from './flow-nodes.ts';
import type { LiveFlow } from './live-flow.ts';
import { passOf, type Run } from './run.ts';

/** Others notice their work. */
const ACTING: ReadonlySet<NodeType> = new Set([
  ...(['send_mail', 'notify', 'webhook', 'api_call', 'start_flow'] as const),
  ...(['add_tag', 'remove_tag', 'set_field', 'copy_to_list', 'move_to_list', 'unsubscribe'] as const),
]);

/** On a way round it is passed over the first time only. */
export function isDoneBefore(
  node: FlowNode,
  run: Pick<Run, 'done' | 'passes'>,
  { repeated }: Pick<LiveFlow, 'repeated'>,
): boolean {
  if (run.done?.includes(node.id) !== true) return false;
  return !repeated.has(node.id) || passOf(run, node.id) === 1;
}

export interface Coming {
  /** Nodes through which the person has gone. */
  readonly passed: ReadonlySet<string>;
  /** The node to which the person comes. */
  readonly to: string;
  /** The person is there already, and its work is not done. */
  readonly isThere: boolean;
  /** The version before; undefined: the person enters anew. */
  readonly before?: Pick<LiveFlow, 'repeated'> | undefined;
}

/** Which nodes that may follow are done; null: none. On what is a way round in both versions, it goes on. */
export function doneAhead(
  { graph, repeated }: Pick<LiveFlow, 'graph' | 'repeated'>,
  { passed, to, isThere, before }: Coming,
): readonly string[] | null {
  const done = [...passed].filter((id) => {
    const node = graph.nodes.get(id);
    if (!node || !ACTING.has(node.type)) return false;
    if (repeated.has(id) && before?.repeated.has(id) === true) return false;
    return id === to ? !isThere : graph.reaches(to, id);
  });
  return done.length > 0 ? done : null;
}
