/** A new list with its contact and the two fields every list begins with (decisions D14, D16). */
import { parseInput } from '../../lib/text.ts';
import { requireWithinLimit } from '../billing/require-within-limit.ts';
import { inTransaction, viewerOf, type Context } from '../context.ts';
import { createListInput, createListInputClassic, type CreateListInput, type MailList } from './list-fields.ts';
import { insertField } from './list-field-store.ts';
import { insertContact, insertList } from './list-store.ts';

/**
 * Creates a list of the caller; `briefContact` demands only company, country and address of the contact, which is all that older
 * clients send. Throws ValidationError on the fields of the input or `PLAN_LIMIT_REACHED`, WrongStateError `SUBSCRIPTION_ENDED`.
 */
export async function createList(ctx: Context, input: CreateListInput): Promise<MailList> {
  const { customerId } = viewerOf(ctx);
  const { contact, ...list } = parseInput(input.briefContact ? createListInputClassic : createListInput, input);
  return inTransaction(ctx, async ({ db, tx }) => {
    await requireWithinLimit(tx, { customerId, limit: 'list_max', field: 'name' });
    const created = await insertList(db, { customerId, ...list });
    await insertContact(db, created, contact);
    await insertField(db, created, {
      type: 'text',
      label: 'First name',
      tag: 'FIRST_NAME',
      defaultValue: null,
      required: false,
    });
    await insertField(db, created, {
      type: 'text',
      label: 'Last name',
      tag: 'LAST_NAME',
      defaultValue: null,
      required: false,
    });
    return created;
  });
}
