/** Making a user an administrator and back (decision D45: a right of a user, not another kind of user). */
import type { Queryable } from '../../db/database.ts';
import { isUid } from '../../lib/ids.ts';
import { inTransaction, viewerOf, type Context } from '../context.ts';
import { lastAdministrator, needsFullToken, notYourself, userNotFound } from './account-errors.ts';
import { auditInTransaction } from './audit-trail.ts';
import type { UserKey } from './api-token-store.ts';
import { lockOperator } from './customer-store.ts';
import { endOtherLogins } from './end-other-logins.ts';
import { requireRecentLogin } from './require-recent-login.ts';
import { EVERY_SCOPE } from './scopes.ts';
import { findUserByUid, hasOtherAdministrator, writeIsAdmin } from './user-store.ts';

export interface SetAdministratorInput {
  readonly userUid: string;
  readonly isAdmin: boolean;
}

/**
 * Grants or removes the right. A change ends every login of the user and its open connections. Throws NotFoundError
 * `USER_NOT_FOUND`; WrongStateError `CUSTOMER_IS_YOURS` (administrators cannot remove their own right) and `LAST_ADMINISTRATOR`:
 * the operator's account, which cannot be disabled, keeps one even if several remove each other's at once; ForbiddenError
 * `FULL_TOKEN_NEEDED`, `LOGIN_TOO_OLD`.
 */
export async function setAdministrator(
  ctx: Context,
  { userUid, isAdmin }: SetAdministratorInput,
): Promise<{ customerId: bigint; userId: bigint; uid: string }> {
  const viewer = viewerOf(ctx);
  if (!viewer.scopes.includes(EVERY_SCOPE)) throw needsFullToken();
  await requireRecentLogin(ctx);
  return inTransaction(ctx, async (inner) => {
    const { db } = inner;
    const user = isUid(userUid) ? await findUserByUid(db, userUid, { lock: true }) : undefined;
    if (!user) throw userNotFound();
    if (user.userId === viewer.userId && !isAdmin) throw notYourself();
    if (!isAdmin) await keepOneAdministrator(db, user);
    if (user.isAdmin !== isAdmin) {
      const { customerId, userId } = user;
      await writeIsAdmin(db, user, isAdmin);
      await endOtherLogins(db, { customerId, userId });
    }
    await auditInTransaction(inner, { customerId: user.customerId, targetUid: userUid });
    return { customerId: user.customerId, userId: user.userId, uid: userUid };
  });
}

async function keepOneAdministrator(db: Queryable, user: UserKey): Promise<void> {
  if (!(await lockOperator(db, user.customerId))) return;
  if (!(await hasOtherAdministrator(db, user))) throw lastAdministrator();
}
