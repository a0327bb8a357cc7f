/** A further custom field for a list (decision D16). */
import { parseInput } from '../../lib/text.ts';
import { inTransaction, type Context } from '../context.ts';
import { findOwnedList } from './find-owned-list.ts';
import { addListFieldInput, LIST_FIELDS_MAX, type AddListFieldInput, type ListField } from './list-field.ts';
import { fieldsOfList, insertField } from './list-field-store.ts';
import { listNotFound, tagTaken, tooManyFields } from './list-errors.ts';
import { lockListForChange } from './list-store.ts';

/**
 * Adds a field to the caller's list; the tag is upper-cased. Throws ValidationError (`FIELD_TAG_TAKEN`,
 * `TOO_MANY_FIELDS`), NotFoundError `LIST_NOT_FOUND`, ForeignResourceError.
 */
export async function addListField(ctx: Context, listUid: string, input: AddListFieldInput): Promise<ListField> {
  const list = await findOwnedList(ctx, listUid);
  const field = parseInput(addListFieldInput, input);
  return inTransaction(ctx, async ({ db }) => {
    // One at a time per list, so that the following count is right.
    if (!(await lockListForChange(db, list))) throw listNotFound();
    if ((await fieldsOfList(db, list)).length >= LIST_FIELDS_MAX) throw tooManyFields(LIST_FIELDS_MAX);
    const added = await insertField(db, list, field);
    if (!added) throw tagTaken(field.tag);
    return added;
  });
}
