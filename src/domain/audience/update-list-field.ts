/**
 * Changes a custom field (decision D58). Stored values are never rewritten: another type, or fewer options, is only accepted
 * when every stored value is a value of the new kind.
 */
import { ValidationError, type FieldErrors } from '../../lib/errors.ts';
import { parseInput } from '../../lib/text.ts';
import { inTransaction, type Context } from '../context.ts';
import { hasOptions, optionKey, readFieldValue, FIELD_VALUE_FAULTS, type FieldKind } from './field-value.ts';
import { isImporting, segmentsOfField, valuesOfField } from './field-usage-read-model.ts';
import { findListField, type ListFieldRef } from './find-list-field.ts';
import { findOwnedList } from './find-owned-list.ts';
import { fieldChanged, fieldInUse, listImporting, listNotFound } from './list-errors.ts';
import {
  settingsFaults,
  updateListFieldInput,
  withStoredDefault,
  type FieldSettings,
  type ListField,
  type UpdateListFieldInput,
} from './list-field.ts';
import type { MailList } from './list-fields.ts';
import { updateField } from './list-field-store.ts';
import { lockListForChange, updateListRow } from './list-store.ts';
import { unfitConditions } from './segments/check-rule.ts';

/** People whose values are read at once: some milliseconds each, so that a list of a million blocks nobody. */
const VALUES_AT_ONCE = 10_000;
/** People named in an error. */
const NAMED_MAX = 3;
const SHOWN_VALUE_MAX = 40;

/**
 * Updates a field of the caller's list; absent values stay. Throws ValidationError (also `FIELD_BUILT_IN`; values or segments
 * that do not fit the new type), NotFoundError `LIST_NOT_FOUND` or `FIELD_NOT_FOUND`, ForeignResourceError, WrongStateError
 * `FIELD_IN_USE`, `LIST_IMPORTING` or `FIELD_CHANGED`.
 */
export async function updateListField(
  ctx: Context,
  ref: ListFieldRef,
  input: UpdateListFieldInput,
): Promise<ListField> {
  const list = await findOwnedList(ctx, ref.listUid);
  const before = await findListField(ctx, list, ref.field);
  const changes = parseInput(updateListFieldInput, withoutNulls(input));
  const { tag, settings } = changed(before, changes);
  const errors: FieldErrors = {
    ...(tag === before.tag ? {} : { tag: ['The tag of a field cannot be changed: add another field instead.'] }),
    ...settingsFaults(settings),
  };
  if (Object.keys(errors).length > 0) throw new ValidationError(errors);
  if (changesKind(before, settings)) await checkStored(ctx, list, { before, after: settings });
  return inTransaction(ctx, async (inner) => {
    if (!(await lockListForChange(inner.db, list))) throw listNotFound();
    const field = await findListField(inner, list, before.uid);
    // Somebody else has changed its kind meanwhile: what was checked is not what is stored.
    if (changesKind(before, field) || changesKind(field, before)) throw fieldChanged();
    const { settings: now } = changed(field, changes);
    const faults = settingsFaults(now);
    if (Object.keys(faults).length > 0) throw new ValidationError(faults);
    await updateField(inner.db, { customerId: list.customerId, id: field.id }, withStoredDefault(now));
    // Messages that are being sent read the defaults again.
    await updateListRow(inner.db, list, {});
    return findListField(inner, list, before.uid);
  });
}

/** Null clears the default value and the place; elsewhere it is like an absent value. */
function withoutNulls(input: UpdateListFieldInput): UpdateListFieldInput {
  const { defaultValue, customOrder, ...others } = input;
  const given = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== null));
  return { ...given, defaultValue, customOrder };
}

function changed(
  before: ListField,
  changes: ReturnType<typeof updateListFieldInput.parse>,
): { readonly tag: string; readonly settings: FieldSettings } {
  const type = changes.type ?? before.type;
  // Options belong to the types with choices: another type has none.
  const keptOptions = hasOptions(type) ? [...before.options] : [];
  const settings = {
    type,
    label: changes.label ?? before.label,
    defaultValue: changes.defaultValue === undefined ? before.defaultValue : changes.defaultValue,
    required: changes.required ?? before.required,
    visible: changes.visible ?? before.visible,
    customOrder: changes.customOrder === undefined ? before.customOrder : changes.customOrder,
    options: changes.options ?? keptOptions,
  };
  return { tag: changes.tag ?? before.tag, settings };
}

/** A condition or a value of the old kind may not fit the new one. */
function changesKind(before: FieldKind, after: FieldKind): boolean {
  const kept = new Set(after.options.map(optionKey));
  return before.type !== after.type || before.options.some((option) => !kept.has(optionKey(option)));
}

interface KindChange {
  readonly before: ListField;
  readonly after: FieldKind;
}

async function checkStored(ctx: Context, list: MailList, change: KindChange): Promise<void> {
  const { before, after } = change;
  const place = { customerId: list.customerId, listId: list.id, tag: before.tag };
  if (await isImporting(ctx.db, place)) throw listImporting();
  const segments = await segmentsOfField(ctx.db, place);
  const unfit = segments.filter(({ rule }) => unfitConditions(rule, before.tag, after).length > 0);
  if (unfit.length > 0)
    throw fieldInUse(
      before.tag,
      'changed so',
      unfit.map(({ name }) => `segment “${name}”`),
    );
  // Each value is a text.
  if (after.type === 'text' || after.type === 'textarea') return;
  const people = await unfitValues(ctx, place, after);
  if (people.length === 0) return;
  const field = before.type === after.type ? 'options' : 'type';
  throw new ValidationError({
    [field]: [`The stored values do not all fit: ${people.join('; ')}. Change or clear these values first.`],
  });
}

/** The first people whose value is none of the new kind, read in pages without a lock. */
async function unfitValues(
  ctx: Context,
  place: { readonly customerId: bigint; readonly listId: bigint; readonly tag: string },
  after: FieldKind,
): Promise<string[]> {
  const found: string[] = [];
  for (let afterId = 0n; ;) {
    const page = await valuesOfField(ctx.db, place, { afterId, limit: VALUES_AT_ONCE });
    for (const { email, value } of page) {
      const { fault } = value?.trim() ? readFieldValue(after, value) : {};
      if (value !== null && fault !== undefined)
        found.push(`“${value.slice(0, SHOWN_VALUE_MAX)}” of ${email} ${FIELD_VALUE_FAULTS[fault]}`);
      if (found.length >= NAMED_MAX) return found;
    }
    const last = page.at(-1);
    if (!last || page.length < VALUES_AT_ONCE) return found;
    afterId = last.id;
  }
}
