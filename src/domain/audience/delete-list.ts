/**
 * Deletes a list with everybody on it, their history, its imports and its campaigns. It is gone at once for everybody who
 * reads; a job erases what it has gathered, slice by slice, however much that is (decision record 0031).
 */
import { ERASE_DELETED_KEY, eraseDeletedJob } from '../../jobs/account-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { inTransaction, type Context } from '../context.ts';
import { findOwnedList } from './find-owned-list.ts';
import type { MailList } from './list-fields.ts';
import { listInUse, listNotFound } from './list-errors.ts';
import { campaignsUsingList, deleteListRow, lockListForDeletion } from './list-store.ts';

/** Campaigns named in a refusal; more would only be noise. */
const NAMED_CAMPAIGNS_MAX = 5;

/**
 * Deletes the caller's list and answers what it was. Throws NotFoundError `LIST_NOT_FOUND`, ForeignResourceError,
 * WrongStateError `LIST_IN_USE` while a campaign to it is scheduled or under way.
 */
export async function deleteList(ctx: Context, uid: string): Promise<MailList> {
  const list = await findOwnedList(ctx, uid);
  return inTransaction(ctx, async ({ db }) => {
    // Waits for whoever is adding people (lockOwnedList), and they then find no list.
    if (!(await lockListForDeletion(db, list))) throw listNotFound();
    const busy = await campaignsUsingList(db, list, NAMED_CAMPAIGNS_MAX);
    if (busy.length > 0) throw listInUse(busy);
    await deleteListRow(db, list);
    await enqueue(db, eraseDeletedJob, {}, { key: ERASE_DELETED_KEY });
    return list;
  });
}
