/** Parts of flows whose work is not built yet: a flow with one of them cannot be published, and says so. */
import { flowFault, type FlowFault } from './flow-fault.ts';
import type { NodeType } from './flow-nodes.ts';
import type { Flow } from './flow.ts';

const UNBUILT_NODES: readonly NodeType[] = [...(['start_flow', 'copy_to_list', 'move_to_list'] as const)];

const BUILT_TRIGGERS: readonly Flow['triggers'][number]['type'][] = [
  ...(['execute', 'subscribed', 'confirmed', 'unsubscribed', 'tag_added', 'tag_removed', 'field_changed'] as const),
  'event',
  ...(['date_field', 'specific_date', 'weekly', 'monthly', 'segment_entered', 'segment_left'] as const),
];

export function unbuiltParts({ triggers, nodes, goals, exits }: Flow): FlowFault[] {
  const faultOf = (what: string, node: string | null, field: string) =>
    flowFault('not_available', `${what} are not available yet.`, node, field);
  return [
    ...triggers.flatMap(({ type }, no) =>
      BUILT_TRIGGERS.includes(type) ? [] : [faultOf(`Triggers of the type ${type}`, null, `triggers.${no}`)],
    ),
    ...nodes
      .filter(({ type }) => UNBUILT_NODES.includes(type))
      .map(({ id, type }) => faultOf(`Nodes of the type ${type}`, id, 'type')),
    ...[...goals, ...exits, ...nodes.filter((one) => one.type === 'wait_for_event')].flatMap(({ id, event }) =>
      event?.type === 'opened' || event?.type === 'clicked' ? [faultOf(`Waits for “${event.type}”`, id, 'event')] : [],
    ),
  ];
}
