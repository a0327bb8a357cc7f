/** Two-factor login through both entry points (hard case E6): it cannot be walked around, and every code works once. */
import { Secret, TOTP } from 'otpauth';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { browse, cookieOf } from '../support/browser.ts';
import { startRestApp, type RestTenant } from '../support/rest-app.ts';

const app = await startRestApp();

// The steps of a test must not end under its feet, however slow the machine is: the product's clock stands still.
const NOW = Date.now();
const clock = vi.spyOn(systemClock, 'now').mockImplementation(() => new Date(NOW));
afterAll(() => clock.mockRestore());

beforeEach(() => app.ctx.db.execute(sql`DELETE FROM hot.rate_window`));

interface Result {
  readonly __typename: string;
  readonly code?: string;
  readonly secret: string;
  readonly uri: string;
  readonly recoveryCodes: string[];
  readonly token: string;
  readonly fields?: { field: string }[];
}

async function mutate(token: string | null, call: string): Promise<Result> {
  const errors = '... on Error { code } ... on ValidationError { fields { field } }';
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(token ? { Authorization: `Bearer ${token}` } : {}) },
    body: JSON.stringify({ query: `mutation { result: ${call.replace('ERRORS', errors)} }` }),
  });
  const { data, errors: others } = await response.json();
  return data?.result ?? others[0].extensions;
}

const begin = (token: string, password: string) =>
  mutate(
    token,
    `beginTwoFactor(input: { password: "${password}" }) { __typename ERRORS ... on TwoFactorSecret { secret uri } }`,
  );
const confirm = (token: string, code: string) =>
  mutate(
    token,
    `confirmTwoFactor(input: { code: "${code}" }) { __typename ERRORS ... on RecoveryCodes { recoveryCodes } }`,
  );
const disable = (token: string, password: string, code: string) =>
  mutate(token, `disableTwoFactor(input: { password: "${password}", code: "${code}" }) { __typename ERRORS }`);
const logIn = ({ email, password }: RestTenant, more: object = {}) =>
  app.rest('/user/login', { method: 'POST', token: null, body: { email, password, ...more } });

/** The code of a step, counted from now. */
const codeOf = (secret: string, step = 0) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: NOW + step * 30_000 });

async function newTenantWithTwoFactor() {
  const tenant = await app.newTenant();
  const { secret } = await begin(tenant.token, tenant.password);
  const { recoveryCodes } = await confirm(tenant.token, codeOf(secret, -1));
  return { tenant, secret, recoveryCodes };
}

const SIGN_IN = `mutation ($input: SignInInput!) { signIn(input: $input) {
  __typename ... on SignedIn { user { email } } ... on Error { code message } } }`;

/** As a page signs in: the answer, and what its cookie opens. */
async function signIn({ email, password }: RestTenant, more: object = {}) {
  const post = (query: string, variables: object, cookie?: string) =>
    browse(`${app.baseUrl}/graphql`, {
      method: 'POST',
      headers: { origin: app.baseUrl, 'content-type': 'application/json', ...(cookie ? { cookie } : {}) },
      body: JSON.stringify({ query, variables }),
    });
  const answer = await post(SIGN_IN, { input: { email, password, ...more } });
  const me = await post('{ me { __typename ... on User { email } } }', {}, cookieOf(answer));
  return {
    ...JSON.parse(answer.text).data.signIn,
    hasCookie: cookieOf(answer) !== '',
    me: JSON.parse(me.text).data.me,
  };
}

test('a page is signed in by email, password and code: it is told that a code is needed, and each code works once', async () => {
  const { tenant, secret, recoveryCodes } = await newTenantWithTwoFactor();
  const refused = { hasCookie: false, me: { __typename: 'UnauthenticatedError' }, __typename: 'UnauthenticatedError' };
  const code = codeOf(secret);
  expect(await signIn(tenant)).toEqual({
    ...refused,
    ...{ code: 'TWO_FACTOR_CODE_REQUIRED', message: expect.stringMatching(/code/i) },
  });
  const wrong = code === '000000' ? '000001' : '000000';
  expect(await signIn(tenant, { code: wrong })).toMatchObject({ ...refused, code: 'TWO_FACTOR_CODE_WRONG' });
  // Nobody learns without the password whether a code is needed.
  expect(await signIn({ ...tenant, password: 'wrong password' }, { code })).toMatchObject({
    ...refused,
    code: 'WRONG_CREDENTIALS',
  });
  const entered = {
    __typename: 'SignedIn',
    hasCookie: true,
    user: { email: tenant.email },
    me: { email: tenant.email },
  };
  expect(await signIn(tenant, { code })).toMatchObject(entered);
  expect(await signIn(tenant, { code })).toMatchObject({ ...refused, code: 'TWO_FACTOR_CODE_WRONG' });
  const [recovery] = recoveryCodes;
  expect(await signIn(tenant, { code: recovery })).toMatchObject(entered);
  expect(await signIn(tenant, { code: recovery })).toMatchObject({ ...refused, code: 'TWO_FACTOR_CODE_WRONG' });
});

test('begins with a secret for the app, changes nothing until a code proves it, and gives ten recovery codes', async () => {
  const tenant = await app.newTenant();
  expect(await begin(tenant.token, 'wrong')).toMatchObject({
    __typename: 'ValidationError',
    fields: [{ field: 'password' }],
  });
  const { secret, uri } = await begin(tenant.token, tenant.password);
  expect(secret).toMatch(/^[A-Z2-7]{32}$/);
  expect(new URL(uri).searchParams.get('secret')).toBe(secret);
  expect((await logIn(tenant)).status).toBe(200);
  expect(await confirm(tenant.token, '000000')).toMatchObject({
    __typename: 'ValidationError',
    fields: [{ field: 'code' }],
  });
  const { recoveryCodes } = await confirm(tenant.token, codeOf(secret));
  expect(new Set(recoveryCodes).size).toBe(10);
  for (const code of recoveryCodes) expect(code).toMatch(/^[a-z2-9]{4}-[a-z2-9]{4}-[a-z2-9]{4}$/);
  expect(await begin(tenant.token, tenant.password)).toMatchObject({ code: 'TWO_FACTOR_IS_ON' });
  const rows = await queryRows<{ secret: Buffer; digest: Buffer }>(
    app.ctx.db,
    sql`
    SELECT f.sealed_secret AS secret, r.digest FROM two_factor f JOIN recovery_code r USING (customer_id, user_id)`,
  );
  const stored = rows.map((row) => row.secret.toString('latin1') + row.digest.toString('latin1')).join();
  for (const text of [secret, ...recoveryCodes]) expect(stored).not.toContain(text);
});

describe('logging in', () => {
  test('without a code gives no token and says what is missing; with one it does, under either name', async () => {
    const { tenant, secret } = await newTenantWithTwoFactor();
    const tokens = async () =>
      (await queryRows(app.ctx.db, sql`SELECT 1 FROM api_token WHERE customer_id = ${tenant.customerId}`)).length;
    const before = await tokens();
    expect(await logIn(tenant)).toMatchObject({
      status: 401,
      body: { message: 'Enter the code that your authenticator app shows.' },
    });
    expect(
      await mutate(
        null,
        `logIn(input: { email: "${tenant.email}", password: "${tenant.password}" }) { __typename ERRORS }`,
      ),
    ).toMatchObject({
      __typename: 'UnauthenticatedError',
      code: 'TWO_FACTOR_CODE_REQUIRED',
    });
    expect(await tokens()).toBe(before);
    expect(await logIn(tenant, { code: codeOf(secret) })).toMatchObject({
      status: 200,
      body: { token: expect.any(String) },
    });
    expect(await logIn(tenant, { otp: codeOf(secret, 1) })).toMatchObject({ status: 200 });
  });

  test('tells nothing of a code to who has the wrong password', async () => {
    const { tenant, secret } = await newTenantWithTwoFactor();
    const wrong = await logIn({ ...tenant, password: 'wrong password' }, { code: codeOf(secret) });
    expect(wrong).toMatchObject({ status: 401, body: { message: 'These credentials do not match our records.' } });
    expect((await logIn(tenant, { code: codeOf(secret) })).status).toBe(200);
  });

  test('takes a code once, also of twenty at once, and only of the steps around now', async () => {
    const { tenant, secret } = await newTenantWithTwoFactor();
    for (const step of [-3, -2, 2, 3]) expect((await logIn(tenant, { code: codeOf(secret, step) })).status).toBe(401);
    await app.ctx.db.execute(sql`DELETE FROM hot.rate_window`);
    const code = codeOf(secret);
    const answers = await Promise.all(Array.from({ length: 20 }, () => logIn(tenant, { code })));
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
    await app.ctx.db.execute(sql`DELETE FROM hot.rate_window`);
    await logIn(tenant, { code });
    expect((await logIn(tenant, { code })).status).toBe(401);
    // Nor the one of the step before, once a newer one was used.
    expect((await logIn(tenant, { code: codeOf(secret, -1) })).status).toBe(401);
  });

  test('stops after five wrong codes, the right one included', async () => {
    const { tenant, secret } = await newTenantWithTwoFactor();
    const statuses: number[] = [];
    for (let n = 0; n < 5; n++) statuses.push((await logIn(tenant, { code: '123' })).status);
    expect(statuses).toEqual(Array(5).fill(401));
    const stopped = await logIn(tenant, { code: codeOf(secret) });
    expect(stopped.status).toBe(429);
    expect(Number(stopped.headers.get('retry-after'))).toBeGreaterThan(800);
  });

  test('takes each recovery code once, in any spelling, and never that of somebody else', async () => {
    const { tenant, recoveryCodes } = await newTenantWithTwoFactor();
    const other = await newTenantWithTwoFactor();
    const [first = '', second = ''] = recoveryCodes;
    expect((await logIn(other.tenant, { code: first })).status).toBe(401);
    expect((await logIn(tenant, { code: first.toUpperCase().replaceAll('-', ' ') })).status).toBe(200);
    expect((await logIn(tenant, { code: first })).status).toBe(401);
    expect((await logIn(tenant, { code: second })).status).toBe(200);
  });
});

test('switching it on or off ends other logins, and leaves API tokens as they are', async () => {
  const tenant = await app.newTenant();
  const session = async () => ((await logIn(tenant)).body as { token: string }).token;
  const [mine, other] = [await session(), await session()];
  const { secret } = await begin(mine, tenant.password);
  const { recoveryCodes } = await confirm(mine, codeOf(secret, -1));
  const works = async (token: string) => (await app.rest('/me', { token })).status;
  expect(await Promise.all([mine, other, tenant.token].map(works))).toEqual([200, 401, 200]);
  expect(await disable(mine, 'wrong', codeOf(secret))).toMatchObject({
    __typename: 'ValidationError',
    fields: [{ field: 'password' }],
  });
  expect(await disable(mine, tenant.password, '000000')).toMatchObject({ fields: [{ field: 'code' }] });
  const later = (await logIn(tenant, { code: codeOf(secret) })).body as { token: string };
  expect(await disable(mine, tenant.password, recoveryCodes[0] ?? '')).toMatchObject({
    __typename: 'TwoFactorDisabled',
  });
  expect(await Promise.all([mine, later.token, tenant.token].map(works))).toEqual([200, 401, 200]);
  expect((await logIn(tenant)).status).toBe(200);
  expect(await disable(mine, tenant.password, '000000')).toMatchObject({ code: 'TWO_FACTOR_IS_OFF' });
});

test('an administrator gets somebody in who lost the app; nobody else does', async () => {
  const { tenant } = await newTenantWithTwoFactor();
  const { body } = await app.rest('/me', { token: tenant.token });
  const reset = `resetTwoFactor(userUid: "${(body as { uid: string }).uid}") { __typename ERRORS }`;
  expect(await mutate(tenant.token, reset)).toMatchObject({ code: 'FORBIDDEN' });
  expect((await logIn(tenant)).status).toBe(401);
  expect(await mutate(app.adminToken, reset)).toMatchObject({ __typename: 'TwoFactorDisabled' });
  expect((await logIn(tenant)).status).toBe(200);
});
