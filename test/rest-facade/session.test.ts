/** Logging in and who am I, over REST (D11, D12). */
import { expect, test } from 'vitest';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp();

test('the installation tells name, version and addresses to anybody', async () => {
  for (const path of ['', '/']) {
    const { status, body } = await app.rest(path, { token: null });
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        name: 'Mailwright',
        version: expect.stringMatching(/^\d/),
        base_url: app.baseUrl,
        api_url: `${app.baseUrl}/api/v1`,
      },
    });
  }
});

test('logging in answers a fresh token under both names, and the token works', async () => {
  const { email, password } = await app.newTenant();
  const bodies = [{ email, password }, new URLSearchParams({ email, password })];
  const tokens = new Set<unknown>();
  for (const body of bodies) {
    const answer = await app.rest('/user/login', { method: 'POST', token: null, body });
    expect(answer).toMatchObject({ status: 200, body: { status: 1, message: expect.any(String), user: { email } } });
    const { token, api_token: same } = answer.body as { token: string; api_token: string };
    expect(same).toBe(token);
    tokens.add(token);
    expect((await app.rest('/me', { token })).body).toMatchObject({ email });
  }
  expect(tokens.size).toBe(2);
});

test('/me answers the user at the top level', async () => {
  const { body } = await app.rest('/me');
  expect(body).toEqual({
    id: expect.any(Number),
    uid: expect.stringMatching(/^[0-9a-f]{13}$/),
    email: 'admin@example.com',
    first_name: expect.any(String),
    last_name: expect.any(String),
    timezone: expect.any(String),
    image: null,
    status: 'active',
    is_admin: true,
    customer: { uid: expect.any(String), name: expect.any(String), status: 'active' },
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
  });
});

test('a token of any scope may ask who it is; a wrong one gets a 401', async () => {
  const { token } = await app.newTenant({ scopes: ['lists:read'] });
  expect((await app.rest('/me', { token })).status).toBe(200);
  expect(await app.rest('/me', { token: 'x'.repeat(60) })).toMatchObject({
    status: 401,
    body: { message: 'Unauthenticated.' },
  });
  expect((await app.rest('/me', { token: null })).status).toBe(401);
});

test('wrong credentials are a 401, and too many of them a 429 that says when to come again', async () => {
  const { email, password } = await app.newTenant();
  for (let attempt = 1; attempt <= 10; attempt++) {
    const { status, body } = await app.rest('/user/login', {
      method: 'POST',
      token: null,
      body: { email, password: 'wrong' },
    });
    expect({ status, body }).toMatchObject({ status: 401, body: { message: expect.any(String) } });
  }
  const { status, headers } = await app.rest('/user/login', { method: 'POST', token: null, body: { email, password } });
  expect(status).toBe(429);
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
});

test("the token's own dialect decides where the header is silent, and the installation's where both are", async () => {
  const classic = await app.newTenant({ restDialect: 'classic' });
  const plain = await app.newTenant();
  const index = (token: string, headers = {}) => app.rest('/sending_servers', { token, headers });
  expect((await index(classic.token)).body).toEqual([]);
  expect((await index(classic.token, { 'X-Api-Dialect': 'standard' })).body).toMatchObject({ data: [] });
  expect((await index(plain.token)).body).toMatchObject({ data: [] });
  const old = await startRestApp({ REST_DIALECT: 'classic' });
  expect((await old.rest('/sending_servers')).body).toEqual([]);
  expect((await old.rest('/sending_servers', { headers: { 'X-Api-Dialect': 'standard' } })).body).toMatchObject({
    data: [],
  });
});

test('a token that no database can hold is a wrong token, wherever it stands', async () => {
  for (const broken of ['a\0b', '\ud800', 'ä'.repeat(30)]) {
    const answers = [
      await app.rest(`/me?api_token=${encodeURIComponent(broken.toWellFormed())}`, { token: null }),
      await app.rest('/lists', { method: 'POST', token: null, body: { api_token: broken, name: 'x' } }),
    ];
    for (const { status, body } of answers)
      expect({ status, body }).toEqual({ status: 401, body: { message: 'Unauthenticated.' } });
  }
});
