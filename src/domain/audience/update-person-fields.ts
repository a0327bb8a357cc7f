/** The data that people change themselves on the public page: values of custom fields, never address, status or tags. */
import { ValidationError, type FieldErrors } from '../../lib/errors.ts';
import { inTransaction, type Context } from '../context.ts';
import { checkFieldValues, requiredFault } from './field-values.ts';
import type { ListField } from './list-field.ts';
import { fieldsOfList } from './list-field-store.ts';
import { lockSubscriber, writeSubscriber, type SubscriberKey } from './subscriber-store.ts';

/**
 * Sets the given values by tag (empty clears) for the person of a signed link; names that are no visible field of the list
 * are ignored.
 * False when the person is gone. Throws ValidationError with the tags.
 */
export async function updatePersonFields(
  ctx: Context,
  key: SubscriberKey,
  values: Readonly<Record<string, string>>,
): Promise<boolean> {
  return inTransaction(ctx, async ({ db }) => {
    const subscriber = await lockSubscriber(db, key);
    if (!subscriber) return false;
    const fields = await fieldsOfList(db, { customerId: key.customerId, id: key.listId });
    const options = { ignoreUnknown: true, isNew: false, isPublic: true };
    const { set, cleared, errors } = checkFieldValues(fields, values, options);
    const kept = Object.entries(subscriber.fields).filter(([tag]) => !cleared.includes(tag));
    const changed: Readonly<Record<string, string>> = { ...Object.fromEntries(kept), ...set };
    const faults = { ...missingFaults(fields, changed), ...errors };
    if (Object.keys(faults).length > 0) throw new ValidationError(faults);
    await writeSubscriber(db, subscriber, { ...subscriber, fields: changed });
    return true;
  });
}

/** Required fields that the person sees and leaves without a value. */
function missingFaults(fields: readonly ListField[], values: Readonly<Record<string, string>>): FieldErrors {
  const missing = fields.filter(({ tag, required, visible }) => required && visible && !values[tag]);
  return Object.fromEntries(missing.map(({ tag }) => [tag, [requiredFault(tag)]]));
}
