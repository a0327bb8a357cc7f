/** Logging in: the limit of decision D11, equal answers for strangers, login tokens that end by disuse. */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { authenticateToken } from '../../../src/domain/accounts/authenticate-token.ts';
import { bootstrapInstallation } from '../../../src/domain/installation/bootstrap-installation.ts';
import { logIn } from '../../../src/domain/accounts/log-in.ts';
import { sweepRequests } from '../../../src/domain/accounts/sweep-accounts.ts';
import { createTestContext } from '../../support/test-context.ts';

const ctx = await createTestContext();
const password = 'correct horse battery';
await bootstrapInstallation(ctx, { email: 'Admin@Example.com', password });
const from = (ipAddress: string) => ({ ...ctx, ipAddress });
const wrong = (ipAddress: string, email = 'admin@example.com') => logIn(from(ipAddress), { email, password: 'wrong' });
const forget = () => ctx.db.execute(sql`DELETE FROM hot.rate_window`);

describe('the limit', () => {
  test('stops an account after ten failures, whatever the address, and the right password too', async () => {
    await forget();
    for (let n = 0; n < 10; n++)
      await expect(wrong(`192.0.2.${n}`)).rejects.toMatchObject({ code: 'WRONG_CREDENTIALS' });
    const stopped = logIn(from('192.0.2.99'), { email: 'admin@example.com', password });
    await expect(stopped).rejects.toMatchObject({ code: 'LOGIN_RATE_LIMITED' });
    await expect(stopped).rejects.toSatisfy(
      (error: { retryAfterSeconds: number }) => error.retryAfterSeconds > 800 && error.retryAfterSeconds <= 900,
    );
  });

  test('stops an address after ten failures, whatever the account', async () => {
    await forget();
    for (let n = 0; n < 10; n++)
      await expect(wrong('198.51.100.1', `p${n}@example.com`)).rejects.toMatchObject({ code: 'WRONG_CREDENTIALS' });
    await expect(wrong('198.51.100.1', 'other@example.com')).rejects.toMatchObject({ code: 'LOGIN_RATE_LIMITED' });
    await expect(logIn(from('198.51.100.2'), { email: 'admin@example.com', password })).resolves.toHaveProperty(
      'token',
    );
  });

  test('cannot be slipped past by trying all at once', async () => {
    await forget();
    const tries = await Promise.allSettled(Array.from({ length: 40 }, () => wrong('203.0.113.7')));
    const checked = tries.filter((one) => one.status === 'rejected' && one.reason.code === 'WRONG_CREDENTIALS');
    expect(checked.length).toBeLessThanOrEqual(10);
  });

  test('is lifted when the window has passed, and refused tries do not extend it', async () => {
    await forget();
    for (let n = 0; n < 12; n++) await wrong('203.0.113.8').catch(() => undefined);
    await ctx.db.execute(
      sql`UPDATE hot.rate_window SET ends_at = ends_at - interval '15 minutes', times = ARRAY(SELECT t - interval '15 minutes' FROM unnest(times) t)`,
    );
    await expect(logIn(from('203.0.113.8'), { email: 'admin@example.com', password })).resolves.toHaveProperty('token');
  });

  test('forgets failures after a day', async () => {
    await ctx.db.execute(sql`UPDATE hot.rate_window SET ends_at = ends_at - interval '25 hours'`);
    await sweepRequests(ctx);
    const [row] = await queryRows<{ count: bigint }>(ctx.db, sql`SELECT count(*) AS count FROM hot.rate_window`);
    expect(row?.count).toBe(0n);
  });

  test('does not count successes', async () => {
    await forget();
    for (let n = 0; n < 12; n++) await logIn(from('203.0.113.9'), { email: 'admin@example.com', password });
  });
});

test('hostile input is a wrong login or invalid, never a defect', async () => {
  await forget();
  for (const email of [
    '',
    ' ',
    'x'.repeat(400),
    'a\0@example.com',
    '\ud800@example.com',
    "' OR 1=1 --",
    'a@b\r\nBcc: c@d',
  ]) {
    await forget();
    await expect(logIn(from('203.0.113.11'), { email, password: 'x' })).rejects.toMatchObject({
      code: /WRONG_CREDENTIALS|INVALID_INPUT/,
    });
  }
});

describe('a login token', () => {
  test('lives thirty days after its last use', async () => {
    await forget();
    const { token } = await logIn(ctx, { email: 'admin@example.com', password });
    await ctx.db.execute(
      sql`UPDATE api_token SET expires_at = now() + interval '1 day', last_used_at = now() - interval '1 hour' WHERE kind = 'login'`,
    );
    expect(await authenticateToken(ctx, { text: token, isSession: false, ipAddress: null })).not.toBeNull();
    const [row] = await queryRows<{ days: number }>(
      ctx.db,
      sql`SELECT extract(day FROM max(expires_at) - now())::int AS days FROM api_token WHERE kind = 'login'`,
    );
    expect(row?.days).toBeGreaterThanOrEqual(29);
    await ctx.db.execute(sql`UPDATE api_token SET expires_at = now() - interval '1 second' WHERE kind = 'login'`);
    expect(await authenticateToken(ctx, { text: token, isSession: false, ipAddress: null })).toBeNull();
  });

  test('does not crowd the table: a hundred are kept', async () => {
    await forget();
    await ctx.db.execute(sql`
      INSERT INTO api_token (customer_id, uid, user_id, kind, name, digest, scopes, expires_at)
      SELECT customer_id, 'uid' || n, id, 'login', 'old', sha256(n::text::bytea), '{*}', now() + interval '1 day'
        FROM app_user, generate_series(1, 150) n`);
    await logIn(ctx, { email: 'admin@example.com', password });
    const [row] = await queryRows<{ count: bigint }>(
      ctx.db,
      sql`SELECT count(*) AS count FROM api_token WHERE kind = 'login'`,
    );
    expect(row?.count).toBe(100n);
  });

  test('is refused to a disabled customer', async () => {
    await forget();
    await ctx.db.execute(sql`UPDATE customer SET status = 'disabled'`);
    await expect(logIn(ctx, { email: 'admin@example.com', password })).rejects.toMatchObject({
      code: 'ACCOUNT_DISABLED',
    });
    await expect(wrong('203.0.113.12')).rejects.toMatchObject({ code: 'WRONG_CREDENTIALS' });
    await ctx.db.execute(sql`UPDATE customer SET status = 'active'`);
  });
});
