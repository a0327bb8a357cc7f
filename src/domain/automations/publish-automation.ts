/** Publishes the draft: from then on people enter the new version; those inside finish on theirs (D84). What is live already stays as it is. */
import { inTransaction, viewerOf, type Context } from '../context.ts';
import { draftChanged, FlowFaultsError, tooManyVersions } from './automation-errors.ts';
import { insertVersion, isLiveFlow } from './automation-store.ts';
import { VERSIONS_MAX, type PublishedVersion } from './automation.ts';
import { beginTriggers } from './begin-triggers.ts';
import { checkDraft } from './check-automation.ts';
import { findOwnedAutomation } from './find-owned-automation.ts';
import { holdUses } from './flow-use-store.ts';
import { usesOf } from './flow-uses.ts';

/**
 * Throws FlowFaultsError `FLOW_HAS_FAULTS`, WrongStateError `AUTOMATION_CHANGED` when the draft is another one than `draftVersion`,
 * ValidationError `TOO_MANY_VERSIONS`, `AUTOMATION_NOT_FOUND`.
 */
export async function publishAutomation(ctx: Context, uid: string, draftVersion: number): Promise<PublishedVersion> {
  return inTransaction(ctx, async (tx) => {
    const { customerId: owner, listId: listOfFlow, draft } = await findOwnedAutomation(tx, uid);
    await holdUses(tx.db, { customerId: owner, listId: listOfFlow }, usesOf(draft));
    const automation = await findOwnedAutomation(tx, uid, 'change');
    if (automation.draftVersion !== draftVersion) throw draftChanged(automation.draftVersion);
    const { flow, faults, warnings } = await checkDraft(tx, automation);
    if (!flow) throw new FlowFaultsError(faults);
    // Whoever publishes again by a program, or twice by a slow page, gets the same version.
    if (automation.liveVersion !== null && (await isLiveFlow(tx.db, automation, flow)))
      return { number: automation.liveVersion, warnings };
    if ((automation.liveVersion ?? 0) >= VERSIONS_MAX) throw tooManyVersions(VERSIONS_MAX);
    const number = await insertVersion(tx.db, automation, { flow, publishedBy: viewerOf(tx).userUid });
    const { customerId, id: automationId, listId, status } = automation;
    const key = { customerId, automationId, version: number };
    if (status === 'active') await beginTriggers(tx, { key, uid, listId, flow, isAnew: false });
    return { number, warnings };
  });
}
