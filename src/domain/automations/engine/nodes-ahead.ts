/** Which nodes' work may follow that of another in the same transaction. Pure. */
import { questionsOf as questionsToPlugins } from '../../audience/segments/plugin-condition.ts';
import { questionsOf } from '../flow/flow-condition.ts';
import type { FlowNode, NodeType } from '../flow/flow-nodes.ts';
import { portsOf } from '../flow/flow-ports.ts';
import type { LiveFlow } from '../runs/live-flow.ts';
import { rulesOfWaysOut } from './ways-out.ts';

const CHANGING: ReadonlySet<NodeType> = new Set(['add_tag', 'remove_tag', 'set_field'] as const);

/** Locks the people, and changes them. */
export function changesPeople({ type }: FlowNode): boolean {
  return CHANGING.has(type);
}

/** After these the person, or the number of the list's people, is another one for everybody: the transaction ends. */
const LAST: ReadonlySet<NodeType> = new Set(['unsubscribe', 'copy_to_list', 'move_to_list', 'start_flow'] as const);

/** Every node that may follow this one without a wait between them. */
export function nodesAhead(live: LiveFlow, node: FlowNode): ReadonlySet<FlowNode> {
  const ahead = new Set<FlowNode>();
  const from = LAST.has(node.type) ? [] : [node];
  for (const one of from)
    for (const port of portsOf(one)) {
      const next = live.graph.next(one.id, port);
      if (!next || ahead.has(next) || !mayFollow(live, next)) continue;
      ahead.add(next);
      from.push(next);
    }
  return ahead;
}

/**
 * What plugins are asked, is asked outside of transactions. Whether a person has had the same mail is read from the history, which is written at
 * the end of the transaction. Who comes to a wait for an event has to be seen there before it looks back: else
 * what happens meanwhile is seen by nobody.
 */
function mayFollow(live: LiveFlow, node: FlowNode): boolean {
  if (node.type === 'send_mail')
    return (
      node.notAgainWithinDays === undefined && rulesOfWaysOut(live).every((rule) => questionsToPlugins(rule).size === 0)
    );
  if (node.type === 'condition')
    return questionsOf(node.if).every((one) => !('person' in one) || questionsToPlugins(one.person).size === 0);
  return ['split', 'wait_until', 'end'].includes(node.type) || changesPeople(node);
}

/** Reads what the run began with; a flow that is started gets it, too. */
export function readsPayload({ type }: FlowNode): boolean {
  return type === 'condition' || type === 'send_mail' || type === 'start_flow';
}
