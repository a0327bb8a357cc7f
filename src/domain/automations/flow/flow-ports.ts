/** The ports of nodes, by which people leave them (D92). */
import { unreachable } from '../../../lib/errors.ts';
import type { FlowNode } from './flow-nodes.ts';

/** The ports that an edge of this node may begin at. A port without an edge ends the flow for who leaves by it. */
export function portsOf(given: FlowNode): readonly string[] {
  switch (given.type) {
    case 'end':
      return [];
    case 'condition':
      return ['yes', 'no'];
    case 'split':
      return given.variants.map(({ name }) => `variant:${name}`);
    case 'wait_for_event':
      return ['next', 'timeout'];
    case 'api_call':
      return given.for === undefined ? ['next'] : ['next', 'timeout'];
    case 'wait_until':
      return given.field === undefined ? ['next', 'late'] : ['next', 'late', 'no_date'];
    case 'wait':
      return ['next'];
    case 'send_mail':
    case 'add_tag':
    case 'remove_tag':
    case 'set_field':
    case 'copy_to_list':
    case 'move_to_list':
    case 'unsubscribe':
    case 'notify':
    case 'start_flow':
    case 'webhook':
      // By `error` goes who met a fault that trying again does not mend; without that edge they are parked (D87).
      return ['next', 'error'];
    default:
      return unreachable(given);
  }
}
