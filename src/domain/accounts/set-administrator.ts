/** Making a user an administrator and back (decision D45: a right of a user, not another kind of user). */
import { sql, type Queryable } from '../../db/database.ts';
import { isUid } from '../../lib/ids.ts';
import { inTransaction, viewerOf, type Context } from '../context.ts';
import { lastAdministrator, needsFullToken, notYourself, userNotFound } from './account-errors.ts';
import { auditInTransaction } from './audit-trail.ts';
import type { UserKey } from './api-token-store.ts';
import { endOtherLogins } from './end-other-logins.ts';
import { EVERY_SCOPE } from './scopes.ts';

export interface SetAdministratorInput {
  readonly userUid: string;
  readonly isAdmin: boolean;
}

/**
 * Grants or removes the right. A change ends every login of the user and its open connections. Throws NotFoundError
 * `USER_NOT_FOUND`; WrongStateError `CUSTOMER_IS_YOURS` (administrators cannot remove their own right) and `LAST_ADMINISTRATOR`:
 * the operator's account, which cannot be disabled, keeps one even if several remove each other's at once; ForbiddenError
 * `FULL_TOKEN_NEEDED`.
 */
export async function setAdministrator(
  ctx: Context,
  { userUid, isAdmin }: SetAdministratorInput,
): Promise<{ customerId: bigint; userId: bigint; uid: string }> {
  const viewer = viewerOf(ctx);
  if (!viewer.scopes.includes(EVERY_SCOPE)) throw needsFullToken();
  return inTransaction(ctx, async (inner) => {
    const { db } = inner;
    const [user] = isUid(userUid)
      ? await db.query(
          { customerId: 'bigint', userId: 'bigint', isAdmin: 'bool' },
          sql`
          SELECT u.customer_id AS "customerId", u.id AS "userId", u.is_admin AS "isAdmin"
            FROM app_user u JOIN customer c ON c.id = u.customer_id
           WHERE u.uid = ${userUid} AND c.status <> 'deleting' FOR UPDATE OF u`,
        )
      : [];
    if (!user) throw userNotFound();
    if (user.userId === viewer.userId && !isAdmin) throw notYourself();
    if (!isAdmin) await keepOneAdministrator(db, user);
    if (user.isAdmin !== isAdmin) {
      const { customerId, userId } = user;
      await db.execute(
        sql`UPDATE app_user SET is_admin = ${isAdmin}, updated_at = now() WHERE customer_id = ${customerId} AND id = ${userId}`,
      );
      await endOtherLogins(db, { customerId, userId });
    }
    await auditInTransaction(inner, { customerId: user.customerId, targetUid: userUid });
    return { customerId: user.customerId, userId: user.userId, uid: userUid };
  });
}

/** Locks the row of the operator's account, so that parallel calls count correctly. */
async function keepOneAdministrator(db: Queryable, { customerId, userId }: UserKey): Promise<void> {
  const operator = await db.execute(sql`SELECT 1 FROM customer WHERE id = ${customerId} AND is_operator FOR UPDATE`);
  if (!operator) return;
  const others = await db.execute(sql`
    SELECT 1 FROM app_user
     WHERE customer_id = ${customerId} AND id <> ${userId} AND is_admin AND status = 'active' LIMIT 1`);
  if (others === 0) throw lastAdministrator();
}
