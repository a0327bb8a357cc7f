/** Who may take a second factor away from whom (hard case E6). */
import { expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { resetTwoFactor } from '../../../src/domain/accounts/end-two-factor.ts';
import { viewerOf, type Context } from '../../../src/domain/context.ts';
import { createTenant } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const base = await createTestContext();

async function withSecondFactor(isAdmin: boolean): Promise<string> {
  const { customerId, userId, userUid } = viewerOf(await createTenant(base));
  await base.db.execute(sql`UPDATE app_user SET is_admin = ${isAdmin} WHERE id = ${userId}`);
  await base.db.execute(
    sql`INSERT INTO two_factor (customer_id, user_id, sealed_secret, confirmed_at) VALUES (${customerId}, ${userId}, 'x', now())`,
  );
  return userUid;
}

async function administrator(scopes: readonly string[]): Promise<Context> {
  const ctx = await createTenant(base);
  return { ...ctx, viewer: { ...viewerOf(ctx), isAdmin: true, scopes } };
}

test("an administrator's is taken away by a token with every scope only: it decides who gets in as one", async () => {
  const [other, customer] = [await withSecondFactor(true), await withSecondFactor(false)];
  const narrow = await administrator(['admin']);
  await expect(resetTwoFactor(narrow, { userUid: other })).rejects.toMatchObject({ code: 'FULL_TOKEN_NEEDED' });
  await resetTwoFactor(narrow, { userUid: customer });
  await resetTwoFactor(await administrator(['*']), { userUid: other });
});
