/**
 * Deletes a list with its people, their history, its imports, and campaigns that have not begun; the reports of finished ones stay,
 * with its name (D57). It is invisible at once; a job erases its rows, slice by slice (decision record 0031).
 */
import { ERASE_DELETED_KEY, eraseDeletedJob } from '../../jobs/account-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { inTransaction, type Context } from '../context.ts';
import { activeFlowsOfList, flowsToList } from '../flow-uses/flow-use-read-model.ts';
import { findOwnedList } from './find-owned-list.ts';
import type { MailList } from './list-fields.ts';
import { flowsBringPeople, listHasActiveFlows, listInUse, listNotFound } from './list-errors.ts';
import { campaignsUsingList, deleteListRow, lockListForDeletion } from './list-store.ts';

/** Campaigns named in an error message. */
const NAMED_CAMPAIGNS_MAX = 5;

/**
 * Deletes the caller's list and returns it. Throws NotFoundError `LIST_NOT_FOUND`, ForeignResourceError, WrongStateError
 * `LIST_IN_USE` while a campaign to it is scheduled or under way, an automation on it is active, or a published flow brings people to it (D86).
 */
export async function deleteList(ctx: Context, uid: string): Promise<MailList> {
  const list = await findOwnedList(ctx, uid);
  return inTransaction(ctx, async ({ db }) => {
    // Waits for transactions that add people (lockOwnedList); later ones find no list.
    if (!(await lockListForDeletion(db, list))) throw listNotFound();
    const busy = await campaignsUsingList(db, list, NAMED_CAMPAIGNS_MAX);
    if (busy.length > 0) throw listInUse(busy);
    const flows = await activeFlowsOfList(db, list);
    if (flows.length > 0) throw listHasActiveFlows(flows);
    const uses = await flowsToList(db, list);
    if (uses.length > 0) throw flowsBringPeople(uses);
    await deleteListRow(db, list);
    // Deleting waited for campaigns to it that were being started or scheduled meanwhile.
    const begun = await campaignsUsingList(db, list, NAMED_CAMPAIGNS_MAX);
    if (begun.length > 0) throw listInUse(begun);
    await enqueue(db, eraseDeletedJob, {}, { key: ERASE_DELETED_KEY });
    return list;
  });
}
