/** Accounts over GraphQL: who a token is, logging in, tokens that are made, rotated and revoked. */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { sha256 } from '../../src/lib/crypto.ts';
import { startGraphqlApp } from '../support/graphql-app.ts';

const app = await startGraphqlApp();
const ME = '{ me { __typename ... on Error { code } ... on User { uid email isAdmin customer { name status } } } }';
const LOG_IN = `mutation ($input: LogInInput!) {
  logIn(input: $input) { __typename ... on LoggedIn { token user { email } } ... on Error { code message } }
}`;
const CREATE = `mutation ($input: CreateApiTokenInput!) {
  createApiToken(input: $input) {
    __typename
    ... on CreatedApiToken { token apiToken { uid name scopes } }
    ... on ValidationError { fields { field messages } }
    ... on Error { code }
  }
}`;

describe('me', () => {
  test('tells the owner of a token', async () => {
    const { data } = await app.run(ME);
    expect(data['me']).toMatchObject({
      email: app.admin.email,
      isAdmin: true,
      customer: { name: 'Operator', status: 'active' },
    });
  });

  test.each([
    ['none', null],
    ['an unknown one', 'x'.repeat(60)],
    ['a huge one', 'x'.repeat(5_000)],
  ])('with %s is refused', async (_name, token) => {
    const { data, errors, status } = await app.run(ME, {}, token);
    expect(data['me']).toEqual({ __typename: 'UnauthenticatedError', code: 'UNAUTHENTICATED' });
    expect([errors, status]).toEqual([[], 200]);
  });

  test('works for a token of any scope', async () => {
    const { token, email } = await app.newCustomer(['lists:read']);
    expect((await app.run(ME, {}, token)).data['me']).toMatchObject({ email, isAdmin: false });
  });
});

describe('logging in', () => {
  test('gives a fresh token beside the primary one', async () => {
    const { email, password } = app.admin;
    const { data } = await app.run(LOG_IN, { input: { email: email.toUpperCase(), password } }, null);
    expect(data['logIn']).toMatchObject({ __typename: 'LoggedIn', user: { email } });
    const { token } = data['logIn'] as { token: string };
    expect((await app.run(ME, {}, token)).data['me']).toMatchObject({ email });
    expect((await app.run(ME)).data['me']).toMatchObject({ email });
  });

  test('says the same of an unknown address and of a wrong password', async () => {
    const wrong = await app.run(LOG_IN, { input: { email: app.admin.email, password: 'wrong-password' } }, null);
    const unknown = await app.run(LOG_IN, { input: { email: 'nobody@example.com', password: 'wrong-password' } }, null);
    expect(wrong.data['logIn']).toMatchObject({ __typename: 'UnauthenticatedError', code: 'WRONG_CREDENTIALS' });
    expect(unknown.data).toEqual(wrong.data);
  });

  test('runs once per request, however it is aliased', async () => {
    const one = `logIn(input: { email: "nobody@example.com", password: "guess" }) { __typename ... on Error { code } }`;
    const many = Array.from({ length: 15 }, (_, n) => `a${n}: ${one}`).join(' ');
    const { data } = await app.run(`mutation { ${many} }`, {}, null);
    const codes = Object.values(data).map((result) => (result as { code: string }).code);
    expect(codes.filter((code) => code === 'TOO_MANY_EXECUTIONS')).toHaveLength(14);
  });

  test('refuses what the database could not hold', async () => {
    const { data } = await app.run(LOG_IN, { input: { email: 'a\0b@example.com', password: 'x' } }, null);
    expect(data['logIn']).toMatchObject({ __typename: 'ValidationError' });
  });
});

describe('API tokens', () => {
  test('are kept as digests only, and shown once', async () => {
    const { data } = await app.run(CREATE, { input: { name: 'Script', scopes: ['lists:read'] } });
    const { token, apiToken } = data['createApiToken'] as { token: string; apiToken: { uid: string } };
    expect(apiToken).toMatchObject({ name: 'Script', scopes: ['lists:read'] });
    const rows = await queryRows<{ digest: Buffer; text: string }>(
      app.ctx.db,
      sql`SELECT digest, api_token::text AS text FROM api_token WHERE uid = ${apiToken.uid}`,
    );
    expect(rows[0]?.digest.equals(sha256(token))).toBe(true);
    expect(rows[0]?.text).not.toContain(token);
    const listed = await app.run(
      '{ apiTokens(first: 100) { ... on ApiTokenConnection { nodes { uid name kind scopes } } } }',
    );
    expect(JSON.stringify(listed.data)).toContain(apiToken.uid);
    expect(JSON.stringify(listed.data)).not.toContain(token);
  });

  test('never hand out more than the one that asks', async () => {
    const { token } = await app.newCustomer(['account:write', 'lists:read']);
    const more = await app.run(CREATE, { input: { name: 'More', scopes: ['*'] } }, token);
    expect(more.data['createApiToken']).toMatchObject({ __typename: 'ForbiddenError', code: 'SCOPE_NOT_HELD' });
    const same = await app.run(CREATE, { input: { name: 'Same' } }, token);
    expect(same.data['createApiToken']).toMatchObject({ apiToken: { scopes: ['account:write', 'lists:read'] } });
  });

  test('that may only read cannot make tokens', async () => {
    const { token } = await app.newCustomer(['account:read']);
    const { data } = await app.run(CREATE, { input: { name: 'No' } }, token);
    expect(data['createApiToken']).toMatchObject({ __typename: 'ForbiddenError', code: 'FORBIDDEN' });
  });

  test('are checked: name, scopes, expiry', async () => {
    const bad = { name: 'a\r\nb', scopes: ['root'], expiresAt: '2001-01-01T00:00:00Z' };
    const { data } = await app.run(CREATE, { input: bad });
    const { fields } = data['createApiToken'] as { fields: { field: string }[] };
    expect(fields.map(({ field }) => field.split('.')[0])).toEqual(expect.arrayContaining(['name', 'scopes']));
  });

  test('end at once when revoked, and change their text when rotated', async () => {
    const made = await app.run(CREATE, { input: { name: 'Short-lived' } });
    const first = made.data['createApiToken'] as { token: string; apiToken: { uid: string } };
    const uid = first.apiToken.uid;
    const rotated = await app.run(
      'mutation ($uid: String!) { rotateApiToken(uid: $uid) { ... on CreatedApiToken { token apiToken { name } } } }',
      { uid },
    );
    const second = rotated.data['rotateApiToken'] as { token: string };
    expect((await app.run(ME, {}, first.token)).data['me']).toMatchObject({ code: 'UNAUTHENTICATED' });
    expect((await app.run(ME, {}, second.token)).data['me']).toMatchObject({ __typename: 'User' });
    const revoke =
      'mutation ($uid: String!) { revokeApiToken(uid: $uid) { __typename ... on RevokedApiToken { uid } } }';
    for (let time = 0; time < 2; time++)
      expect((await app.run(revoke, { uid })).data['revokeApiToken']).toMatchObject({ uid });
    expect((await app.run(ME, {}, second.token)).data['me']).toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  test('of somebody else cannot be told from unknown ones', async () => {
    const other = await app.newCustomer();
    const made = await app.run(CREATE, { input: { name: 'Mine' } }, other.token);
    const { apiToken } = made.data['createApiToken'] as { apiToken: { uid: string } };
    const revoke =
      'mutation ($uid: String!) { revokeApiToken(uid: $uid) { __typename ... on Error { code message } } }';
    const foreign = await app.run(revoke, { uid: apiToken.uid });
    const unknown = await app.run(revoke, { uid: '0123456789abc' });
    expect(foreign.data).toEqual(unknown.data);
    expect(foreign.data['revokeApiToken']).toMatchObject({ __typename: 'NotFoundError', code: 'API_TOKEN_NOT_FOUND' });
  });
});
