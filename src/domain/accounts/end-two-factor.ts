/** Switching the second factor off: by its user, who proves both factors, or by an administrator for a user who is locked out. */
import { NotFoundError } from '../../lib/errors.ts';
import { inTransaction, viewerOf, type Context } from '../context.ts';
import type { UserKey } from './api-token-store.ts';
import { auditInTransaction } from './audit-trail.ts';
import { confirmPassword } from './confirm-password.ts';
import { endOtherLogins } from './end-other-logins.ts';
import { requireFullTokenFor } from './known-customer.ts';
import { checkCode, notOn, refuseWhenOff } from './set-up-two-factor.ts';
import { deleteTwoFactor } from './two-factor-store.ts';
import { findUserByUid } from './user-store.ts';

/**
 * Switches it off with a code of the app or a recovery code. All other logins of the user end. Throws ValidationError (password,
 * code), WrongStateError `TWO_FACTOR_IS_OFF`.
 */
export async function disableTwoFactor(
  ctx: Context,
  { password, code }: { password: string; code: string },
): Promise<void> {
  const viewer = viewerOf(ctx);
  await refuseWhenOff(ctx);
  await confirmPassword(ctx, password);
  await checkCode(ctx, code);
  await remove(ctx, viewer);
}

/**
 * For a user who lost the app and the codes; the caller was checked to be an administrator. Throws NotFoundError
 * `USER_NOT_FOUND`, WrongStateError `TWO_FACTOR_IS_OFF`, ForbiddenError `FULL_TOKEN_NEEDED` for an administrator's.
 */
export async function resetTwoFactor(ctx: Context, { userUid }: { userUid: string }): Promise<void> {
  const user = await findUserByUid(ctx.db, userUid);
  if (!user) throw new NotFoundError('USER_NOT_FOUND', 'No user has this uid.');
  requireFullTokenFor(viewerOf(ctx), user);
  await remove(ctx, { ...user, userUid });
}

async function remove(
  ctx: Context,
  user: UserKey & { readonly tokenId?: bigint; readonly userUid: string },
): Promise<void> {
  await inTransaction(ctx, async (inner) => {
    const { db } = inner;
    if (!(await deleteTwoFactor(db, user))) throw notOn();
    await endOtherLogins(db, user);
    await auditInTransaction(inner, { customerId: user.customerId, targetUid: user.userUid });
  });
}
