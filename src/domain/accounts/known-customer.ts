/** Finds the customer that an administrator names. To an administrator no customer is foreign. */
import { isUid } from '../../lib/ids.ts';
import { emailKey, isEmailAddress } from '../../lib/text.ts';
import { viewerOf, type Context, type Viewer } from '../context.ts';
import { customerNotFound, operatorStays, needsFullToken, noCustomerWithEmail, notYourself } from './account-errors.ts';
import { findCustomer } from './customer-store.ts';
import type { Customer } from './customer.ts';
import { EVERY_SCOPE } from './scopes.ts';

/** The customer with this uid. Throws NotFoundError `CUSTOMER_NOT_FOUND`. */
export async function knownCustomer(ctx: Context, uid: string, options: { lock?: boolean } = {}): Promise<Customer> {
  const customer = isUid(uid) ? await findCustomer(ctx.db, { uid }, options) : undefined;
  if (!customer) throw customerNotFound();
  return customer;
}

/** The customer whose user has this address. Throws NotFoundError `CUSTOMER_NOT_FOUND`. */
export async function customerWithEmail(ctx: Context, email: string): Promise<Customer> {
  const address = email.trim();
  const customer = isEmailAddress(address) ? await findCustomer(ctx.db, { emailKey: emailKey(address) }) : undefined;
  if (!customer) throw noCustomerWithEmail();
  return customer;
}

/** Throws WrongStateError for the operator's account, and for the administrator's own customer. */
export function refuseOwnOrOperator(ctx: Context, { id, isOperator }: Customer): void {
  if (isOperator) throw operatorStays();
  if (viewerOf(ctx).customerId === id) throw notYourself();
}

/**
 * Changing an administrator's access could give these rights to the caller: that needs a token with every scope. Throws
 * ForbiddenError `FULL_TOKEN_NEEDED`.
 */
export function requireFullTokenFor(viewer: Viewer, { isAdmin }: { isAdmin: boolean }): void {
  if (isAdmin && !viewer.scopes.includes(EVERY_SCOPE)) throw needsFullToken();
}
