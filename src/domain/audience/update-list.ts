/** Changes a list's metadata, sender identity, opt-in settings and contact; absent values stay. */
import { InputFaults } from '../../lib/input-faults.ts';
import { inTransaction, type Context } from '../context.ts';
import { enqueueHeldMails } from '../accounts/enqueue-held-mails.ts';
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

/** What holds mails to people of the list back, and by whose clock. */
const HOLDING = ['frequencyCap', 'quietHours', 'timezone', 'timezoneTag'] as const;

/** Updates the caller's list. Throws ValidationError, NotFoundError `LIST_NOT_FOUND`, ForeignResourceError. */
export async function updateList(ctx: Context, uid: string, input: UpdateListInput): Promise<MailList> {
  const found = await findOwnedList(ctx, uid);
  const { logo: chooseLogo, ...values } = withCountryNumber(input);
  const faults = new InputFaults();
  const { contact, ...changes } = faults.readRight(
    input.briefContact ? updateListInputClassic : updateListInput,
    values,
  );
  const logo = await faults.gather(async () => chooseLogo?.());
  faults.check();
  return inTransaction(ctx, async (inner) => {
    if (!(await updateListRow(inner.db, found, { ...changes, logo }))) throw listNotFound();
    await updateContactRow(inner.db, found, contact ?? {});
    if (HOLDING.some((name) => changes[name] !== undefined))
      await enqueueHeldMails(inner.db, { customerId: found.customerId, listId: found.id });
    return findOwnedList(inner, uid);
  });
}
