/** Rights about money: administrators everything, others only for their own customer. */
import { holdsScope } from '../accounts/scopes.ts';
import { viewerOf, type Context } from '../context.ts';
import { ForbiddenError } from '../../lib/errors.ts';

/** Whether the caller may act for every customer: an administrator with a token that may act as one. */
export function administers(ctx: Context): boolean {
  const { isAdmin, scopes } = viewerOf(ctx);
  return isAdmin && holdsScope(scopes, 'admin');
}

/** Throws ForbiddenError when the caller does not administer the installation. */
export function requireAdministrator(ctx: Context): void {
  if (!administers(ctx)) throw new ForbiddenError('FORBIDDEN', 'This needs an administrator.');
}
