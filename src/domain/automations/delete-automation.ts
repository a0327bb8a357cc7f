/**
 * Deletes an automation: at once nobody can see it or be moved in it. A job erases everybody's place, entries and history, in batches.
 * It also finds what is left of automations that went with their list.
 */
import { eraseGoneJob } from '../../jobs/automation-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { inTransaction, type Context } from '../context.ts';
import { automationInUse } from './automation-errors.ts';
import { deleteAutomationRow, discardActivity, eraseRows, findGoneAutomation } from './erase-automation-store.ts';
import { deleteOldFlowTests, endLostFlowTests } from './live-test/old-flow-test-store.ts';
import { findOwnedAutomation } from './find-owned-automation.ts';
import { flowsStarting } from './flow/started-flow-store.ts';

/** Some tens of milliseconds. */
const ROWS_AT_ONCE = 5_000;
/** One job for all deletions. */
const ERASE_KEY = 'automations.erase-gone';

/** Whoever is in it leaves it. Throws WrongStateError `AUTOMATION_IN_USE` while an active automation starts it, `AUTOMATION_NOT_FOUND`. */
export async function deleteAutomation(ctx: Context, uid: string): Promise<{ uid: string }> {
  return inTransaction(ctx, async (tx) => {
    const automation = await findOwnedAutomation(tx, uid, 'change');
    const uses = await flowsStarting(tx.db, automation);
    if (uses.length > 0) throw automationInUse(uses);
    await deleteAutomationRow(tx.db, automation);
    await enqueue(tx.db, eraseGoneJob, {}, { key: ERASE_KEY });
    return { uid };
  });
}

/** The job: erases what is left of all automations that are gone, what waits for those that are stopped, and old tests. Another job continues when the process stops. */
export async function eraseGone(ctx: Context, isStopping: () => boolean): Promise<void> {
  for (let gone = await findGoneAutomation(ctx.db); gone; gone = await findGoneAutomation(ctx.db))
    for (let isDone = false; !isDone; isDone = !(await eraseRows(ctx.db, gone, ROWS_AT_ONCE)))
      if (isStopping()) return enqueue(ctx.db, eraseGoneJob, {}, { key: ERASE_KEY });
  await endLostFlowTests(ctx.db);
  for (const erase of [discardActivity, deleteOldFlowTests])
    while ((await erase(ctx.db, ROWS_AT_ONCE)) > 0)
      if (isStopping()) return enqueue(ctx.db, eraseGoneJob, {}, { key: ERASE_KEY });
}
