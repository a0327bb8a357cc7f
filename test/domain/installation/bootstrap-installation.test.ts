/** The first start happens once, however many processes begin together; only digests and hashes stay. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { authenticateToken } from '../../../src/domain/accounts/authenticate-token.ts';
import { bootstrapInstallation } from '../../../src/domain/installation/bootstrap-installation.ts';
import { logIn } from '../../../src/domain/accounts/log-in.ts';
import { createTestContext } from '../../support/test-context.ts';

test('ten at once make one installation, and show its secrets once', async () => {
  const ctx = await createTestContext();
  const made = await Promise.all(
    Array.from({ length: 10 }, () => bootstrapInstallation(ctx, { email: 'admin@example.com' })),
  );
  const [shown, ...others] = made.filter((one) => one !== null);
  expect(others).toEqual([]);
  expect(shown?.apiToken).toMatch(/^[A-Za-z0-9]{60}$/);
  const [rows] = await queryRows(
    ctx.db,
    sql`
    SELECT (SELECT count(*) FROM customer) AS customers, (SELECT count(*) FROM app_user) AS users, (SELECT count(*) FROM api_token) AS tokens`,
  );
  expect(rows).toEqual({ customers: 1n, users: 1n, tokens: 1n });
  const found = await authenticateToken(ctx, {
    text: shown?.apiToken ?? '',
    isSession: false,
    ipAddress: '127.0.0.1',
  });
  expect(found?.viewer).toMatchObject({ isAdmin: true, scopes: ['*'] });
  await logIn(ctx, { email: 'admin@example.com', password: shown?.password ?? '' });
});

test('what the operator chose is used and not shown; nothing readable is stored', async () => {
  const ctx = await createTestContext();
  const input = { email: 'boss@example.com', password: 'canary-password-1', apiToken: 'CanaryToken'.repeat(5) };
  expect(await bootstrapInstallation(ctx, input)).toEqual({
    email: 'boss@example.com',
    password: null,
    apiToken: null,
  });
  expect(await authenticateToken(ctx, { text: input.apiToken, isSession: false, ipAddress: null })).not.toBeNull();
  const stored = await queryRows<{ text: string }>(
    ctx.db,
    sql`
    SELECT u::text || k::text || s::text AS text FROM app_user u, api_token k, setting s`,
  );
  expect(stored[0]?.text).toMatch(/\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect(stored[0]?.text).not.toMatch(/canary/i);
});

test('does not come back when the administrators are gone', async () => {
  const ctx = await createTestContext();
  await bootstrapInstallation(ctx, { email: 'admin@example.com' });
  await ctx.db.execute(sql`DELETE FROM customer`);
  expect(await bootstrapInstallation(ctx, { email: 'evil@example.com' })).toBeNull();
});

test('a password that everybody tries first stops the start, and leaves nothing behind', async () => {
  const ctx = await createTestContext();
  const weak = { email: 'boss@example.com', password: 'password1' };
  await expect(bootstrapInstallation(ctx, weak)).rejects.toThrow('ADMIN_PASSWORD cannot be used: The password is one');
  expect(await bootstrapInstallation(ctx, { email: 'boss@example.com' })).not.toBeNull();
});
