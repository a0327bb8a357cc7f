/** Activates an automation, or stops it: then nobody enters, and who is inside stays where they are (D85). */
import { inTransaction, type Context } from '../context.ts';
import { notPublished } from './automation-errors.ts';
import { eraseAutomation, writeStatus } from './automation-store.ts';
import { followFromNow } from './flow-follower-store.ts';
import type { AutomationStatus } from './automation.ts';
import { findOwnedAutomation } from './find-owned-automation.ts';

/** Repeating it is harmless. Throws WrongStateError `AUTOMATION_NOT_PUBLISHED`, `AUTOMATION_NOT_FOUND`. */
export async function setAutomationStatus(
  ctx: Context,
  uid: string,
  status: AutomationStatus,
): Promise<{ uid: string }> {
  return inTransaction(ctx, async (tx) => {
    const automation = await findOwnedAutomation(tx, uid, 'change');
    if (status === 'active' && automation.liveVersion === null) throw notPublished();
    if (automation.status === status) return { uid };
    await writeStatus(tx.db, automation, status);
    if (status === 'active') await followFromNow(tx.db, automation);
    return { uid };
  });
}

/** Deletes an automation: whoever is in it leaves it. Throws `AUTOMATION_NOT_FOUND`. */
export async function deleteAutomation(ctx: Context, uid: string): Promise<{ uid: string }> {
  return inTransaction(ctx, async (tx) => {
    await eraseAutomation(tx.db, await findOwnedAutomation(tx, uid, 'change'));
    return { uid };
  });
}
