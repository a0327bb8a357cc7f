/** Signing in from a page: one operation gives the cookie of a session, and leads to our own pages only. */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { browse, cookieOf } from '../support/browser.ts';
import { startRestApp, type RestTenant } from '../support/rest-app.ts';

const app = await startRestApp();
const SIGN_IN = `mutation ($input: SignInInput!) { signIn(input: $input) {
  __typename ... on SignedIn { next deviceToken user { email } } ... on Error { code } ... on ValidationError { fields { field } } } }`;
const ME = '{ me { __typename ... on User { email } } }';

async function run(query: string, variables: object, cookie = '') {
  const answer = await browse(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { origin: app.baseUrl, 'content-type': 'application/json', ...(cookie ? { cookie } : {}) },
    body: JSON.stringify({ query, variables }),
  });
  return { ...answer, data: JSON.parse(answer.text).data };
}

const signIn = ({ email, password }: Pick<RestTenant, 'email' | 'password'>, rest: object = {}) =>
  run(SIGN_IN, { input: { email, password, ...rest } });

const NOT_OURS = [
  '//evil.example',
  '/\\evil.example',
  '\\\\evil.example',
  '/\t/evil.example',
  '/\n/evil.example',
  '\u0001//evil.example',
  'https://evil.example/',
  'javascript:alert(1)',
  'inbox',
  '',
  `/${'x'.repeat(2_000)}`,
];

test('email and password set the cookie of a session; no login token is left, and logging out deletes the cookie', async () => {
  const tenant = await app.newTenant();
  const answer = await signIn(tenant);
  expect(answer.data.signIn).toMatchObject({ __typename: 'SignedIn', next: '/', user: { email: tenant.email } });
  expect(answer.headers['set-cookie']).toEqual([
    expect.stringMatching(/^mailwright_session=\w{60}; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax$/),
  ]);
  const cookie = cookieOf(answer);
  expect((await run(ME, {}, cookie)).data.me).toEqual({ __typename: 'User', email: tenant.email });
  const kinds = await queryRows<{ kind: string }>(
    app.ctx.db,
    sql`SELECT kind FROM api_token WHERE customer_id = ${tenant.customerId} AND revoked_at IS NULL ORDER BY kind`,
  );
  expect(kinds.map(({ kind }) => kind)).toEqual(['primary', 'session']);
  const out = await run('mutation { logOut { __typename } }', {}, cookie);
  expect(out.data.logOut).toEqual({ __typename: 'LoggedOut' });
  expect(out.headers['set-cookie']).toEqual([expect.stringMatching(/^mailwright_session=; Max-Age=0; /)]);
  expect((await run(ME, {}, cookie)).data.me).toEqual({ __typename: 'UnauthenticatedError' });
});

test('a wrong password sets no cookie', async () => {
  const tenant = await app.newTenant();
  const answer = await signIn({ ...tenant, password: 'wrong password' });
  expect(answer.data.signIn).toMatchObject({ __typename: 'UnauthenticatedError', code: 'WRONG_CREDENTIALS' });
  expect(answer.headers['set-cookie']).toBeUndefined();
});

describe('where a person goes then', () => {
  test.each(NOT_OURS.map((next) => [JSON.stringify(next), next]))('%s is refused', async (_name, next) => {
    const tenant = await app.newTenant();
    const answer = await signIn(tenant, { next });
    expect(answer.data.signIn).toMatchObject({ __typename: 'ValidationError', fields: [{ field: 'next' }] });
    expect(answer.headers['set-cookie']).toBeUndefined();
    const { url } = (await app.rest('/login-token', { method: 'POST', token: tenant.token })).body as { url: string };
    const followed = await browse(`${url}?next=${encodeURIComponent(next)}`);
    expect([followed.status, followed.headers['location']]).toEqual([303, `${app.baseUrl}/`]);
  });

  test('a path of ours is followed, after signing in and by a login link', async () => {
    const tenant = await app.newTenant();
    const next = '/inbox?to=ann%40example.org#newest';
    expect((await signIn(tenant, { next })).data.signIn).toMatchObject({ next });
    const LINK = `mutation ($next: String) { createLoginLink(input: { next: $next }) {
      ... on LoginLink { url } ... on ValidationError { fields { field } } } }`;
    const cookie = cookieOf(await signIn(tenant));
    const { url } = (await run(LINK, { next }, cookie)).data.createLoginLink;
    expect((await browse(url)).headers['location']).toBe(`${app.baseUrl}${next}`);
    const refused = await run(LINK, { next: '//evil.example' }, cookie);
    expect(refused.data.createLoginLink).toEqual({ fields: [{ field: 'next' }] });
  });
});
