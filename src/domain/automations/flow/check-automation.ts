/** What stands against publishing the draft of an automation, and what may be meant so (D91). */
import { inTransaction, type Context, type TransactionContext } from '../../context.ts';
import type { Automation } from '../automation.ts';
import { checkFlow } from './check-flow.ts';
import type { FlowFault } from './flow-fault.ts';
import type { Flow } from './flow.ts';
import { findOwnedAutomation } from '../find-owned-automation.ts';
import { referenceFaults } from './flow-references.ts';
import { mailReferenceFaults } from './mail-references.ts';
import { pluginEventFaults } from './plugin-event-faults.ts';
import { startedFlowFaults } from './started-flow-references.ts';

export interface DraftCheck {
  /** Present when there are no faults. */
  readonly flow?: Flow;
  readonly faults: readonly FlowFault[];
  readonly warnings: readonly FlowFault[];
}

/** Whether the draft can be published. Changes nothing. Throws `AUTOMATION_NOT_FOUND`. */
export async function checkAutomation(ctx: Context, uid: string): Promise<DraftCheck & { draftVersion: number }> {
  return inTransaction(ctx, async (tx) => {
    const automation = await findOwnedAutomation(tx, uid);
    return { ...(await checkDraft(tx, automation)), draftVersion: automation.draftVersion };
  });
}

/** First the flow by itself; what it refers to only when that is right. */
export async function checkDraft(
  ctx: TransactionContext,
  {
    draft,
    customerId,
    listId,
    id: automationId,
    uid,
  }: Pick<Automation, 'draft' | 'customerId' | 'listId' | 'id' | 'uid'>,
): Promise<DraftCheck> {
  const { flow, faults, warnings } = checkFlow(draft);
  if (!flow || faults.length > 0) return { faults, warnings };
  const further = [
    ...(await referenceFaults(ctx, { customerId, id: listId }, flow)),
    ...(await startedFlowFaults(ctx, { customerId, listId, uid }, flow)),
    ...(await mailReferenceFaults(ctx, { customerId, listId, automationId }, flow)),
    ...(await pluginEventFaults(ctx, customerId, flow)),
  ];
  return further.length > 0 ? { faults: further, warnings } : { flow, faults: [], warnings };
}
