/** The work of each type of node. */
import { unreachable } from '../../lib/errors.ts';
import { chooseByCondition, split } from './choice-work.ts';
import { copyToList } from './list-work.ts';
import { sendMails } from './mail-work.ts';
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
    case 'add_tag':
      return addTag({ ...work, node });
    case 'remove_tag':
      return removeTag({ ...work, node });
    case 'set_field':
      return setField({ ...work, node });
    case 'unsubscribe':
      return unsubscribe({ ...work, node });
    case 'end':
      return work.runs.map(() => ({ leave: 'end' }));
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
