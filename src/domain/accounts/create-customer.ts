/** A new tenant with its first user and that user's primary API token. */
import { newUid } from '../../lib/ids.ts';
import { ValidationError } from '../../lib/errors.ts';
import { checkInput, emailKey } from '../../lib/text.ts';
import { inTransaction, type Context } from '../context.ts';
import { emailTaken } from './account-errors.ts';
import { insertApiToken } from './api-token-store.ts';
import { auditInTransaction } from './audit-trail.ts';
import { insertCustomer, insertUser } from './customer-store.ts';
import { customerName, newCustomerInput } from './customer.ts';
import { faultsOfNewPassword } from './new-password.ts';
import { hashPassword } from './password.ts';
import { EVERY_SCOPE } from './scopes.ts';

export interface CreateCustomerInput {
  readonly email: string;
  readonly password: string;
  readonly firstName?: string | null | undefined;
  readonly lastName?: string | null | undefined;
  readonly timezone?: string | null | undefined;
  readonly languageId?: number | null | undefined;
}

export interface CreatedCustomer {
  readonly customerId: bigint;
  readonly uid: string;
  /** In clear: shown once, not stored. */
  readonly apiToken: string;
}

/** Creates the customer. Throws ValidationError with every fault, including a taken address. */
export async function createCustomer(ctx: Context, input: CreateCustomerInput): Promise<CreatedCustomer> {
  const person = await checkedPerson(input);
  const uid = newUid();
  const passwordHash = await hashPassword(input.password);
  return inTransaction(ctx, async (inner) => {
    const { db } = inner;
    const { timezone, languageId } = person;
    const customerId = await insertCustomer(db, { uid, name: customerName(person), timezone, languageId });
    const user = { ...person, customerId, uid: newUid(), emailKey: emailKey(person.email), passwordHash };
    const userId = await insertUser(db, user);
    if (userId === undefined) throw emailTaken();
    const { token } = await insertApiToken(db, {
      ...{ customerId, userId, kind: 'primary', name: 'Primary', scopes: [EVERY_SCOPE] },
    });
    await auditInTransaction(inner, { customerId, targetUid: uid });
    return { customerId, uid, apiToken: token };
  });
}

async function checkedPerson(input: CreateCustomerInput) {
  const { data, errors } = checkInput(newCustomerInput, input);
  const names = [input.firstName, input.lastName, `${input.firstName ?? ''}${input.lastName ?? ''}`];
  const password = await faultsOfNewPassword(input.password, { email: input.email, names });
  if (errors || password.length > 0)
    throw new ValidationError({ ...errors, ...(password.length > 0 ? { password } : {}) });
  const { email, firstName, lastName, timezone, languageId } = data;
  return {
    email,
    firstName: firstName ?? '',
    lastName: lastName ?? '',
    timezone: timezone || 'UTC',
    languageId: languageId ?? null,
  };
}
