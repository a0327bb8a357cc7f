/** A new list with its contact and the two fields every list begins with (decisions D14, D16). */
import { InputFaults } from '../../lib/input-faults.ts';
import { requireWithinLimit } from '../billing/plans/require-within-limit.ts';
import { inTransaction, viewerOf, type Context } from '../context.ts';
import {
  createListInput,
  createListInputClassic,
  withCountryNumber,
  type CreateListInput,
  type MailList,
} from './list-fields.ts';
import { insertField, type NewField } from './list-field-store.ts';
import { insertContact, insertList } from './list-store.ts';

const FIRST_FIELDS = [
  { tag: 'FIRST_NAME', label: 'First name' },
  { tag: 'LAST_NAME', label: 'Last name' },
] as const;
const NAME_SETTINGS: Omit<NewField, 'tag' | 'label'> = {
  type: 'text',
  defaultValue: null,
  required: false,
  visible: true,
  customOrder: null,
  options: [],
};

/**
 * Creates a list of the caller; with `briefContact` the contact and the default subject may be empty, as older clients leave them
 * (D49). Throws ValidationError on the fields of the input or `PLAN_LIMIT_REACHED`, WrongStateError `SUBSCRIPTION_ENDED`.
 */
export async function createList(ctx: Context, input: CreateListInput): Promise<MailList> {
  const { customerId } = viewerOf(ctx);
  const { contact, ...list } = await checkedList(input);
  return inTransaction(ctx, async ({ db, tx }) => {
    await requireWithinLimit(tx, { customerId, limit: 'list_max', field: 'name' });
    const created = await insertList(db, { customerId, ...list });
    await insertContact(db, created, contact);
    for (const field of FIRST_FIELDS) await insertField(db, created, { ...NAME_SETTINGS, ...field });
    return created;
  });
}

async function checkedList(input: CreateListInput) {
  const { logo: chooseLogo, ...values } = withCountryNumber(input);
  const schema = input.briefContact ? createListInputClassic : createListInput;
  const faults = new InputFaults();
  const list = faults.read(schema, values);
  const logo = await faults.gather(async () => chooseLogo?.());
  faults.check();
  return { ...(list ?? schema.parse(values)), logo };
}
