/** What an administrator changes of a customer: its first user's address, names and password, time zone, language. */
import type { Queryable } from '../../db/database.ts';
import { InputFaults } from '../../lib/input-faults.ts';
import { emailKey } from '../../lib/text.ts';
import { inTransaction, viewerOf, type Context } from '../context.ts';
import { emailTaken } from './account-errors.ts';
import { auditInTransaction } from './audit-trail.ts';
import { changedContactValue, isEmailConflict, writeCustomer, writeUser } from './customer-store.ts';
import { changedCustomerInput, customerName, type ContactChanges, type Customer } from './customer.ts';
import { endOtherLogins } from './end-other-logins.ts';
import { enqueueHeldMails } from './enqueue-held-mails.ts';
import { knownCustomer, requireFullTokenFor } from './known-customer.ts';
import { faultsOfNewPassword, ownerOfPassword } from './new-password.ts';
import { hashPassword } from './password.ts';

/** A value that another module checks; undefined changes nothing, null clears. Throws ValidationError. */
export type Change<T> = () => Promise<T | null | undefined>;

/** A file that was chosen as the picture of a user or customer. */
export interface ChosenPicture {
  /** Below `/files/`. */
  readonly place: string;
  /** Keeps the file from being deleted before the transaction ends. Throws ValidationError when it was deleted meanwhile. */
  hold(tx: Queryable): Promise<void>;
}

export interface UpdateCustomerInput {
  readonly uid: string;
  readonly email?: string | null | undefined;
  readonly password?: string | null | undefined;
  readonly firstName?: string | null | undefined;
  readonly lastName?: string | null | undefined;
  readonly timezone?: string | null | undefined;
  readonly languageId?: number | null | undefined;
  /** What changes of the contact (`contactChanges`): its faults are told with the others. */
  readonly contact?: Change<ContactChanges>;
  /** The picture (`chooseCustomerPicture`), likewise. */
  readonly image?: Change<ChosenPicture>;
}

/**
 * Changes the given values; a new password ends every login of the user. Throws NotFoundError `CUSTOMER_NOT_FOUND`,
 * ValidationError, ForbiddenError `FULL_TOKEN_NEEDED` for an administrator's address or password.
 */
export async function updateCustomer(ctx: Context, input: UpdateCustomerInput): Promise<{ id: bigint; uid: string }> {
  const customer = await knownCustomer(ctx, input.uid);
  const { image, contact, ...values } = await checkedValues(ctx, input, customer);
  if (values.email !== undefined || values.passwordHash !== undefined) requireFullTokenFor(viewerOf(ctx), customer);
  const { id, uid, userId } = customer;
  await inTransaction(ctx, async (inner) => {
    const { db } = inner;
    await image?.hold(db);
    await writeUser(db, { customerId: id, userId }, values);
    const { timezone, languageId } = values;
    const tenant = { timezone, languageId, image: image && image.place, contact: changedContactValue(contact) };
    await writeCustomer(db, id, { ...tenant, name: newName(customer, values) });
    // Lists without a zone of their own have their quiet hours by this one.
    if (timezone !== undefined) await enqueueHeldMails(db, { customerId: id, listId: null });
    if (values.passwordHash !== undefined)
      await endOtherLogins(db, { customerId: id, userId, ...ownLogin(ctx, userId) });
    await auditInTransaction(inner, { customerId: id, targetUid: uid });
  }).catch((error: unknown) => {
    throw isEmailConflict(error) ? emailTaken() : error;
  });
  return { id, uid };
}

async function checkedValues({ db }: Context, input: UpdateCustomerInput, customer: Customer) {
  const { uid: _, email, password, image, contact, ...others } = input;
  const faults = new InputFaults();
  // A form sends every field. An address or a password cannot be removed, so an empty one changes nothing.
  const data = faults.readRight(changedCustomerInput, { ...others, ...(email ? { email } : {}) });
  const wrong = password ? await faultsOfNewPassword(password, await newOwner(db, input, customer)) : [];
  if (wrong.length > 0) faults.add({ password: wrong });
  const changes = {
    image: await faults.gather(async () => image?.()),
    contact: await faults.gather(async () => contact?.()),
  };
  faults.check();
  return {
    email: data.email,
    emailKey: data.email && emailKey(data.email),
    ...profileValues(data),
    ...changes,
    languageId: data.languageId,
    passwordHash: password ? await hashPassword(password) : undefined,
  };
}

/** The person with present and new names. */
async function newOwner(db: Queryable, { email, firstName, lastName }: UpdateCustomerInput, customer: Customer) {
  const owner = await ownerOfPassword(db, { customerId: customer.id, userId: customer.userId });
  const names = [...owner.names, firstName, lastName, `${firstName ?? ''}${lastName ?? ''}`];
  return { ...owner, email: email ?? owner.email, names };
}

/** undefined changes nothing, null clears. */
export function profileValues(given: {
  firstName?: string | null | undefined;
  lastName?: string | null | undefined;
  timezone?: string | null | undefined;
}) {
  const { firstName, lastName, timezone } = given;
  return {
    firstName: firstName === null ? '' : firstName,
    lastName: lastName === null ? '' : lastName,
    timezone: timezone === undefined ? undefined : timezone || 'UTC',
  };
}

type NewNames = { firstName?: string | undefined; lastName?: string | undefined; email?: string | undefined };

/** A customer has its first user's name, except the operator's account. */
function newName(customer: Customer, { firstName, lastName, email }: NewNames): string | undefined {
  if (customer.isOperator) return undefined;
  return customerName({
    firstName: firstName ?? customer.firstName,
    lastName: lastName ?? customer.lastName,
    email: email ?? customer.email,
  });
}

/** An administrator who changes the own password stays logged in. */
function ownLogin(ctx: Context, userId: bigint): { tokenId?: bigint } {
  const viewer = viewerOf(ctx);
  return viewer.userId === userId ? { tokenId: viewer.tokenId } : {};
}
