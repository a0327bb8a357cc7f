/** Finds a custom field of the caller's list by its uid or its tag. */
import type { Context } from '../context.ts';
import { isUid } from '../../lib/ids.ts';
import { builtInField, fieldNotFound, foreignField } from './list-errors.ts';
import type { ListField } from './list-field.ts';
import type { MailList } from './list-fields.ts';
import { fieldExists, fieldsOfList } from './list-field-store.ts';

/** Names a field: the list, and the uid or tag of the field. */
export interface ListFieldRef {
  readonly listUid: string;
  readonly field: string;
}

/**
 * The field. Throws ValidationError `FIELD_BUILT_IN` for the address (its uid is that of the list), NotFoundError
 * `FIELD_NOT_FOUND`, ForeignResourceError of the same code.
 */
export async function findListField(ctx: Context, list: MailList, ref: string): Promise<ListField> {
  const tag = ref.trim().toUpperCase();
  if (ref === list.uid || tag === 'EMAIL') throw builtInField();
  const fields = await fieldsOfList(ctx.db, list);
  const found = fields.find(({ uid }) => uid === ref) ?? fields.find((field) => field.tag === tag);
  if (found) return found;
  throw isUid(ref) && (await fieldExists(ctx.db, ref)) ? foreignField() : fieldNotFound();
}
