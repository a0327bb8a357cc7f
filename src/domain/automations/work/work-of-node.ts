/** The work of each type of node. */
import { unreachable } from '../../../lib/errors.ts';
import { chooseByCondition, split } from './choice-work.ts';
import { copyToList } from './list-work.ts';
import { sendMails } from './mail-work.ts';
import type { FlowNode } from '../flow/flow-nodes.ts';
import type { NodeWork, Outcome } from './node-work.ts';
import { endWaitsForEvent } from './event-wait-work.ts';
import { notify } from './notify-work.ts';
import { addTag, removeTag, setField, unsubscribe } from './person-work.ts';
import { startFlow } from './start-flow-work.ts';
import { fireWebhooks } from './fire-webhooks.ts';
import { endWaits, endWaitsForDates, endWaitsForEvents } from './wait-work.ts';

export async function workOfNode({ node, ...work }: NodeWork): Promise<readonly Outcome[]> {
  switch (node.type) {
    case 'wait':
    case 'wait_until':
    case 'wait_for_event':
    case 'api_call':
    case 'condition':
    case 'split':
    case 'end':
      return workThatReads({ ...work, node });
    case 'add_tag':
      return addTag({ ...work, node });
    case 'remove_tag':
      return removeTag({ ...work, node });
    case 'set_field':
      return setField({ ...work, node });
    case 'unsubscribe':
      return unsubscribe({ ...work, node });
    case 'send_mail':
      return sendMails({ ...work, node });
    case 'notify':
      return notify({ ...work, node });
    case 'webhook':
      return fireWebhooks({ ...work, node });
    case 'start_flow':
      return startFlow({ ...work, node });
    case 'copy_to_list':
    case 'move_to_list':
      return copyToList({ ...work, node });
    default:
      return unreachable(node);
  }
}

/** Nodes that only decide: dry runs do their work, too. */
const READING = ['wait', 'wait_until', 'wait_for_event', 'api_call', 'condition', 'split', 'end'] as const;
type ReadingType = (typeof READING)[number];
type ReadingNode = Extract<FlowNode, { type: ReadingType }>;

export function isReading(node: FlowNode): node is ReadingNode {
  return READING.some((type) => type === node.type);
}

export async function workThatReads({ node, ...work }: NodeWork<ReadingType>): Promise<readonly Outcome[]> {
  switch (node.type) {
    case 'wait':
      return endWaits({ ...work, node });
    case 'wait_until':
      return endWaitsForDates({ ...work, node });
    case 'wait_for_event':
      return endWaitsForEvent({ ...work, node });
    case 'api_call':
      return endWaitsForEvents({ ...work, node });
    case 'condition':
      return chooseByCondition({ ...work, node });
    case 'split':
      return split({ ...work, node });
    case 'end':
      return work.runs.map(() => ({ leave: 'end' }));
    default:
      return unreachable(node);
  }
}
