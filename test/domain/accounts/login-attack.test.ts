/** Guessing is hopeless, and locking somebody out is no weapon (hard cases E15, E16). */
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { LOGIN_FAILURES_PER_DAY_MAX } from '../../../src/domain/accounts/account-limits.ts';
import { sql } from '../../../src/db/database.ts';
import { bootstrapInstallation } from '../../../src/domain/installation/bootstrap-installation.ts';
import { logIn } from '../../../src/domain/accounts/log-in.ts';
import { hashPassword } from '../../../src/domain/accounts/password.ts';
import { createTestContext } from '../../support/test-context.ts';

const ctx = await createTestContext();
const email = 'owner@example.com';
const password = 'correct horse battery';
await bootstrapInstallation(ctx, { email, password });
const from = (ipAddress: string) => ({ ...ctx, ipAddress });
const tryAt = (ipAddress: string, typed: string, more: object = {}) =>
  logIn(from(ipAddress), { email, password: typed, ...more });
const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : 'unknown');

const { argon2 } = crypto;
let hashes = 0;
beforeEach(async () => {
  await ctx.db.execute(sql`DELETE FROM hot.rate_window`);
  await ctx.db.execute(sql`UPDATE api_token SET last_used_ip = NULL`);
  hashes = 0;
  const counted: typeof argon2 = (...args) => {
    hashes++;
    argon2(...args);
  };
  crypto.argon2 = counted;
  syncBuiltinESMExports();
});
afterEach(() => {
  crypto.argon2 = argon2;
  syncBuiltinESMExports();
});

async function attack(tries: number): Promise<Map<string, number>> {
  const outcomes = new Map<string, number>();
  let next = 0;
  const guess = async () => {
    for (let n = next++; n < tries; n = next++) {
      const outcome = await tryAt(`2001:db8:${(n % 1_000).toString(16)}::1`, `guess ${n}`).then(() => 'in', codeOf);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 10 }, guess));
  return outcomes;
}

test('of 10,000 guesses from 1,000 addresses at most ten are looked at, and the owner still gets in', async () => {
  const { deviceToken } = await tryAt('192.0.2.1', password);
  const hashesBefore = hashes;
  const outcomes = await attack(10_000);
  expect(outcomes.get('in')).toBeUndefined();
  expect(outcomes.get('WRONG_CREDENTIALS') ?? 0).toBeLessThanOrEqual(10);
  expect((outcomes.get('WRONG_CREDENTIALS') ?? 0) + (outcomes.get('LOGIN_RATE_LIMITED') ?? 0)).toBe(10_000);
  expect(hashes - hashesBefore).toBeLessThanOrEqual(10);
  // A stranger is locked out with the right password, too: that is what makes guessing hopeless.
  await expect(tryAt('198.51.100.77', password)).rejects.toMatchObject({ code: 'LOGIN_RATE_LIMITED' });
  // The owner, on a device that logged in before, from anywhere:
  await expect(tryAt('198.51.100.78', password, { deviceToken })).resolves.toHaveProperty('token');
  // … or without it, from an address where a token of the owner was in use:
  await ctx.db.execute(sql`UPDATE api_token SET last_used_ip = '203.0.113.50' WHERE kind = 'primary'`);
  await expect(tryAt('203.0.113.50', password)).resolves.toHaveProperty('token');
}, 900_000);

test('a known device is a few more guesses, not endless ones', async () => {
  const { deviceToken } = await tryAt('192.0.2.1', password);
  const outcomes: string[] = [];
  for (let n = 0; n < 12; n++)
    outcomes.push(await tryAt('192.0.2.9', `guess ${n}`, { deviceToken }).then(() => 'in', codeOf));
  expect(outcomes).toEqual([...Array(10).fill('WRONG_CREDENTIALS'), 'LOGIN_RATE_LIMITED', 'LOGIN_RATE_LIMITED']);
});

test('a device is known no more when the password changes, to another user, or when its token was touched', async () => {
  const { deviceToken } = await tryAt('192.0.2.1', password);
  const lock = () =>
    ctx.db.execute(
      sql`UPDATE hot.rate_window SET times = times || now(), totals = totals || totals[cardinality(totals)] + 11 WHERE key LIKE 'login:%'`,
    );
  await tryAt('192.0.2.2', 'wrong').catch(() => undefined);
  await lock();
  const refused = { code: 'LOGIN_RATE_LIMITED' };
  for (const forged of [
    `${deviceToken.slice(0, -1)}${deviceToken.endsWith('A') ? 'B' : 'A'}`,
    'x',
    `${deviceToken.startsWith('a') ? 'b' : 'a'}${deviceToken.slice(1)}`,
  ])
    await expect(tryAt('192.0.2.3', password, { deviceToken: forged })).rejects.toMatchObject(refused);
  const [old] = await queryRows<{ password_hash: string }>(ctx.db, sql`SELECT password_hash FROM app_user`);
  await ctx.db.execute(sql`UPDATE app_user SET password_hash = ${await hashPassword(password)}`);
  await expect(tryAt('192.0.2.3', password, { deviceToken })).rejects.toMatchObject(refused);
  await ctx.db.execute(sql`UPDATE app_user SET password_hash = ${old?.password_hash}`);
  await expect(tryAt('192.0.2.3', password, { deviceToken })).resolves.toHaveProperty('token');
});

test('an account takes at most 100 failures in any 24 hours, spread as they may be', async () => {
  expect(LOGIN_FAILURES_PER_DAY_MAX).toBe(100);
  const pass = (seconds: number) =>
    ctx.db.execute(sql`UPDATE hot.rate_window SET ends_at = ends_at - make_interval(secs => ${seconds}::int),
           times = ARRAY(SELECT t - make_interval(secs => ${seconds}::int) FROM unnest(times) t)`);
  await tryAt('192.0.2.2', 'wrong').catch(() => undefined);
  // Failures of the hours after the first one: those of the short windows have left, one of the day's is left.
  await ctx.db.execute(
    sql`UPDATE hot.rate_window SET times = times || now(), totals = totals || ${LOGIN_FAILURES_PER_DAY_MAX - 1}::bigint WHERE ends_at > now() + interval '1 hour'`,
  );
  await pass(20 * 3_600);
  await expect(tryAt('192.0.2.2', 'wrong')).rejects.toMatchObject({ code: 'WRONG_CREDENTIALS' });
  const refused = tryAt('198.51.100.9', password);
  await expect(refused).rejects.toMatchObject({ code: 'LOGIN_RATE_LIMITED' });
  await expect(refused).rejects.toSatisfy(
    (error: { retryAfterSeconds: number }) => error.retryAfterSeconds > 13_000 && error.retryAfterSeconds <= 14_400,
  );
  await pass(4 * 3_600);
  await expect(tryAt('198.51.100.9', password)).resolves.toHaveProperty('token');
});

test('the first five answers come at once, the next five later and later', async () => {
  const times: number[] = [];
  for (let n = 0; n < 10; n++) {
    const startedAt = performance.now();
    await tryAt(`198.51.100.${n}`, 'wrong').catch(() => undefined);
    times.push(performance.now() - startedAt);
  }
  // What it waits is certain to have passed; what the machine adds is not looked at.
  for (const [place, waited] of [100, 200, 400, 800, 1_600].entries())
    expect(times[5 + place]).toBeGreaterThanOrEqual(waited - 2);
});

test('an address logs in thirty times a minute, right or wrong, and all of a /64 is one address', async () => {
  const outcomes: string[] = [];
  for (let n = 0; n < 31; n++) outcomes.push(await tryAt(`2001:db8:9:9::${n + 1}`, password).then(() => 'in', codeOf));
  expect(outcomes).toEqual([...Array(30).fill('in'), 'LOGIN_RATE_LIMITED']);
  await expect(tryAt('2001:db8:9:a::1', password)).resolves.toHaveProperty('token');
});

test('somebody and nobody get the same answer for the same work', async () => {
  const answers: unknown[] = [];
  for (const [place, address] of [email, 'nobody@example.com', 'no address', email.toUpperCase()].entries()) {
    const before = hashes;
    const error = await logIn(from(`192.0.2.${place}`), { email: address, password: 'wrong' }).catch(
      (one: Error) => one,
    );
    answers.push({ ...(error as object), message: (error as Error).message, hashes: hashes - before });
  }
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  expect(answers[0]).toMatchObject({ hashes: 1, code: 'WRONG_CREDENTIALS' });
});

test('what is counted is stored under a key: what was typed as the address may have been the password', async () => {
  await logIn(from('192.0.2.44'), { email: password, password: 'wrong' }).catch(() => undefined);
  await tryAt('192.0.2.44', 'wrong').catch(() => undefined);
  const stored = JSON.stringify(await queryRows(ctx.db, sql`SELECT key FROM hot.rate_window`));
  expect(stored).not.toMatch(/correct|owner|192\.0\.2/);
});

test('a hash with weaker settings is replaced by the login that proves the password', async () => {
  const salt = Buffer.alloc(16, 7);
  const weak = crypto.scryptSync(password, salt, 32, { N: 2 ** 14, r: 8, p: 1 });
  const text = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');
  await ctx.db.execute(sql`UPDATE app_user SET password_hash = ${`$scrypt$ln=14,r=8,p=1$${text(salt)}$${text(weak)}`}`);
  await tryAt('192.0.2.5', 'wrong').catch(() => undefined);
  const kind = async () =>
    (await queryRows<{ kind: string }>(ctx.db, sql`SELECT split_part(password_hash, '$', 2) AS kind FROM app_user`))[0]
      ?.kind;
  expect(await kind()).toBe('scrypt');
  await tryAt('192.0.2.5', password);
  expect(await kind()).toBe('argon2id');
  await expect(tryAt('192.0.2.5', password)).resolves.toHaveProperty('token');
});
