/** The data that people change themselves on the public page: values of custom fields, never address, status or tags. */
import { ValidationError } from '../../lib/errors.ts';
import { inTransaction, type Context } from '../context.ts';
import { checkFieldValues } from './field-values.ts';
import { fieldsOfList } from './list-field-store.ts';
import { lockSubscriber, writeSubscriber, type SubscriberKey } from './subscriber-store.ts';

/**
 * Sets the given values by tag (empty clears) for the person of a signed link; names that are no field of the list are ignored.
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
    const { set, cleared, errors } = checkFieldValues(fields, values, { ignoreUnknown: true, isNew: false });
    if (Object.keys(errors).length > 0) throw new ValidationError(errors);
    const kept = Object.entries(subscriber.fields).filter(([tag]) => !cleared.includes(tag));
    await writeSubscriber(db, subscriber, { ...subscriber, fields: { ...Object.fromEntries(kept), ...set } });
    return true;
  });
}
