/** A further custom field for a list (decisions D16, D58). */
import { ValidationError } from '../../lib/errors.ts';
import { parseInput } from '../../lib/text.ts';
import { inTransaction, type Context } from '../context.ts';
import { findOwnedList } from './find-owned-list.ts';
import { isBeingRemoved } from './field-removal-store.ts';
import {
  addListFieldInput,
  LIST_FIELDS_MAX,
  settingsFaults,
  withStoredDefault,
  type AddListFieldInput,
  type ListField,
} from './list-field.ts';
import { fieldsOfList, insertField } from './list-field-store.ts';
import { listNotFound, tagBeingRemoved, tagTaken, tooManyFields } from './list-errors.ts';
import { lockListForChange, updateListRow } from './list-store.ts';

/**
 * Adds a field to the caller's list; the tag is upper-cased. Throws ValidationError (`FIELD_TAG_TAKEN`,
 * `FIELD_BEING_REMOVED`, `TOO_MANY_FIELDS`), NotFoundError `LIST_NOT_FOUND`, ForeignResourceError.
 */
export async function addListField(ctx: Context, listUid: string, input: AddListFieldInput): Promise<ListField> {
  const list = await findOwnedList(ctx, listUid);
  const field = parseInput(addListFieldInput, input);
  const errors = settingsFaults(field);
  if (Object.keys(errors).length > 0) throw new ValidationError(errors);
  return inTransaction(ctx, async ({ db }) => {
    // One at a time per list, so that the following count is right.
    if (!(await lockListForChange(db, list))) throw listNotFound();
    if ((await fieldsOfList(db, list)).length >= LIST_FIELDS_MAX) throw tooManyFields(LIST_FIELDS_MAX);
    const removal = { customerId: list.customerId, listId: list.id, tag: field.tag };
    if (await isBeingRemoved(db, removal)) throw tagBeingRemoved(field.tag);
    const added = await insertField(db, list, withStoredDefault(field));
    if (!added) throw tagTaken(field.tag);
    // Messages that are being sent read the defaults again.
    await updateListRow(db, list, {});
    return added;
  });
}
