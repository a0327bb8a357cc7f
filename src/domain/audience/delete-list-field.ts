/**
 * Removes a custom field (decision D58): it is gone at once, a job removes people's values in slices, and until it is done no
 * field can get the tag, so that old values never belong to a new field.
 */
import { removeFieldValuesJob } from '../../jobs/audience-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { flowsNamed } from '../flow-uses/flow-use.ts';
import { flowsWithField } from '../flow-uses/flow-use-read-model.ts';
import { inTransaction, type Context, type TransactionContext } from '../context.ts';
import { campaignsOfField, isImporting, isTimezoneField, segmentsOfField } from './field-usage-read-model.ts';
import { insertRemoval } from './field-removal-store.ts';
import { findListField, type ListFieldRef } from './find-list-field.ts';
import { findOwnedList } from './find-owned-list.ts';
import { fieldInUse, listImporting, listNotFound } from './list-errors.ts';
import type { ListField } from './list-field.ts';
import type { MailList } from './list-fields.ts';
import { deleteField } from './list-field-store.ts';
import { lockListForChange, updateListRow } from './list-store.ts';

/** Segments and campaigns named in an error message. */
const NAMED_MAX = 5;
/** Writers that read the fields before the field was removed have ended then. */
const BEGIN_AFTER_SECONDS = 5;

/**
 * Removes a field of the caller's list and returns it. Throws ValidationError `FIELD_BUILT_IN`, WrongStateError `FIELD_IN_USE`
 * (segments, campaigns under way, published flows (D86), the list's own setting) or `LIST_IMPORTING`, NotFoundError `LIST_NOT_FOUND` or
 * `FIELD_NOT_FOUND`, ForeignResourceError.
 */
export async function deleteListField(ctx: Context, ref: ListFieldRef): Promise<ListField> {
  const list = await findOwnedList(ctx, ref.listUid);
  return inTransaction(ctx, async (inner) => {
    if (!(await lockListForChange(inner.db, list))) throw listNotFound();
    const field = await findListField(inner, list, ref.field);
    await refuseUsed(inner, list, field);
    await deleteField(inner.db, { customerId: list.customerId, id: field.id });
    const removal = { customerId: list.customerId, listId: list.id, tag: field.tag };
    await insertRemoval(inner.db, removal);
    await updateListRow(inner.db, list, {});
    const payload = { ...removal, customerId: String(removal.customerId), listId: String(removal.listId) };
    await enqueue(inner.db, removeFieldValuesJob, payload, { delaySeconds: BEGIN_AFTER_SECONDS });
    return field;
  });
}

async function refuseUsed({ db }: TransactionContext, list: MailList, { tag }: ListField): Promise<void> {
  const place = { customerId: list.customerId, listId: list.id, tag };
  if (await isImporting(db, place)) throw listImporting();
  const segments = (await segmentsOfField(db, place)).slice(0, NAMED_MAX).map(({ name }) => `segment “${name}”`);
  const campaigns = (await campaignsOfField(db, place, NAMED_MAX)).map((name) => `campaign “${name}”`);
  const setting = (await isTimezoneField(db, place)) ? ['the list’s setting timezone_tag'] : [];
  const flows = flowsNamed(await flowsWithField(db, place));
  const users = [...segments, ...campaigns, ...flows, ...setting];
  if (users.length > 0) throw fieldInUse(tag, 'removed', users);
}
