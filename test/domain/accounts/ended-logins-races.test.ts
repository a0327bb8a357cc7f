/** No login slips in behind a change that ends all logins (hard cases E5, E6). */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { insertApiToken } from '../../../src/domain/accounts/api-token-store.ts';
import { endOtherLogins } from '../../../src/domain/accounts/end-other-logins.ts';
import { logIn } from '../../../src/domain/accounts/log-in.ts';
import { createLoginLink, useLoginLink } from '../../../src/domain/accounts/login-link.ts';
import { hashPassword } from '../../../src/domain/accounts/password.ts';
import { disableCustomer } from '../../../src/domain/accounts/set-customer-status.ts';
import { viewerOf } from '../../../src/domain/context.ts';
import { createTenant } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const base = await createTestContext();
const PASSWORD = 'seven purple elephants';

async function waiters(): Promise<number> {
  const rows = await queryRows(
    base.db,
    sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return rows.length;
}

const untilOneWaits = () => expect.poll(waiters, { interval: 20 }).toBe(1);

test('a session by a link that is being used at that moment ends, too', async () => {
  const ctx = await createTenant(base);
  const user = viewerOf(ctx);
  const { token } = await createLoginLink(ctx, {});
  let ending: Promise<void> = Promise.resolve();
  await base.database.transaction(async (tx) => {
    expect(await useLoginLink({ ...base, db: tx, tx }, token)).toBeDefined();
    ending = base.database.transaction((inner) => endOtherLogins(inner, { ...user, tokenId: undefined }));
    await untilOneWaits();
  });
  await ending;
  const left = await queryRows(
    base.db,
    sql`SELECT 1 FROM api_token WHERE customer_id = ${user.customerId} AND kind = 'session' AND revoked_at IS NULL`,
  );
  expect(left).toHaveLength(0);
});

test('a login without a code is refused when the second factor is switched on meanwhile', async () => {
  const { customerId, userId } = viewerOf(await createTenant(base));
  const hash = await hashPassword(PASSWORD);
  await base.db.execute(sql`UPDATE app_user SET password_hash = ${hash} WHERE id = ${userId}`);
  const [user] = await queryRows<{ email: string }>(base.db, sql`SELECT email FROM app_user WHERE id = ${userId}`);
  let login: Promise<unknown> = Promise.resolve();
  await base.database.transaction(async (tx) => {
    await endOtherLogins(tx, { customerId, userId });
    await tx.execute(
      sql`INSERT INTO two_factor (customer_id, user_id, sealed_secret, confirmed_at) VALUES (${customerId}, ${userId}, 'x', now())`,
    );
    login = logIn(base, { email: user?.email ?? '', password: PASSWORD }).catch((error: unknown) => error);
    await Promise.race([login, untilOneWaits()]);
  });
  expect(await login).toMatchObject({ code: 'TWO_FACTOR_CODE_REQUIRED' });
});

test('a customer is disabled while one of its users logs in, and neither fails', async () => {
  const ctx = await createTenant(base);
  const { customerId, userId } = viewerOf(ctx);
  const [customer] = await queryRows<{ uid: string }>(base.db, sql`SELECT uid FROM customer WHERE id = ${customerId}`);
  const house = await createTenant(base);
  let disabling: Promise<unknown> = Promise.resolve();
  await base.database.transaction(async (tx) => {
    await queryRows(tx, sql`SELECT 1 FROM app_user WHERE customer_id = ${customerId} AND id = ${userId} FOR SHARE`);
    disabling = disableCustomer(
      { ...house, viewer: { ...viewerOf(house), isAdmin: true } },
      { uid: customer?.uid ?? '' },
    );
    disabling.catch(() => undefined);
    await untilOneWaits();
    await insertApiToken(tx, {
      ...{ customerId, userId, kind: 'login', name: 'Login', scopes: ['*'] },
      sessionDays: ctx.installation.limits.sessionDays,
    });
  });
  await disabling;
  const left = await queryRows(
    base.db,
    sql`SELECT 1 FROM api_token WHERE customer_id = ${customerId} AND kind = 'login' AND revoked_at IS NULL`,
  );
  expect(left).toHaveLength(0);
});
