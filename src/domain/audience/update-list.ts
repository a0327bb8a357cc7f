/** Changes a list's metadata, sender identity, opt-in settings and contact; absent values stay. */
import { parseInput } from '../../lib/text.ts';
import { inTransaction, type Context } from '../context.ts';
import { findOwnedList } from './find-owned-list.ts';
import {
  updateListInput,
  updateListInputClassic,
  withCountryNumber,
  type MailList,
  type UpdateListInput,
} from './list-fields.ts';
import { listNotFound } from './list-errors.ts';
import { updateContactRow, updateListRow } from './list-store.ts';

/** Updates the caller's list. Throws ValidationError, NotFoundError `LIST_NOT_FOUND`, ForeignResourceError. */
export async function updateList(ctx: Context, uid: string, input: UpdateListInput): Promise<MailList> {
  const found = await findOwnedList(ctx, uid);
  const { contact, ...changes } = parseInput(
    input.briefContact ? updateListInputClassic : updateListInput,
    withCountryNumber(input),
  );
  return inTransaction(ctx, async (inner) => {
    if (!(await updateListRow(inner.db, found, changes))) throw listNotFound();
    await updateContactRow(inner.db, found, contact ?? {});
    return findOwnedList(inner, uid);
  });
}
