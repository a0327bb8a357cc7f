/** Faults of nodes that start flows: the flow is one of the same list, and does not start this one again (D83). Checked on publishing (D91). */
import type { Context } from '../../context.ts';
import type { Automation } from '../automation.ts';
import { flowFault, type FlowFault } from './flow-fault.ts';
import type { Flow } from './flow.ts';
import { whereStartsLead } from './started-flow-store.ts';

export async function startedFlowFaults(
  { db }: Pick<Context, 'db'>,
  { customerId, listId, uid }: Pick<Automation, 'customerId' | 'listId' | 'uid'>,
  { nodes }: Flow,
): Promise<FlowFault[]> {
  const starts = nodes.filter((node) => node.type === 'start_flow');
  if (starts.length === 0) return [];
  const uids = [...new Set(starts.map(({ automationUid }) => automationUid))];
  const rows = await whereStartsLead(db, { customerId, listId, uid }, uids);
  const leads = new Map(rows.map((one) => [one.uid, one]));
  return starts.flatMap(({ id, automationUid }) => {
    const { isThere = false, leadsBack = false } = leads.get(automationUid) ?? {};
    if (!isThere) return [flowFault('unknown_automation', UNKNOWN, id, 'automationUid')];
    return leadsBack ? [flowFault('starts_itself', LEADS_BACK, id, 'automationUid')] : [];
  });
}

const UNKNOWN = 'The list has no automation with this uid. Create it for the same list first.';
const LEADS_BACK =
  'The flow that is started here starts this flow again, itself or by others, without end. Start another one, or let people enter again by a trigger.';
