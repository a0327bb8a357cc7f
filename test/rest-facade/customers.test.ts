/** Customers over REST, as an administrator and as anybody else (specification 4.7; wire facts: answers 4, 10, requests 8, 11). */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { newUid } from '../../src/lib/ids.ts';
import { hooksFollower } from '../../src/workers/fire-hooks.ts';
import { caughtUp, startFollowers } from '../support/event-followers.ts';
import { countStatements, NOISE } from '../support/count-statements.ts';
import { startRestApp, type RestAnswer } from '../support/rest-app.ts';
import { withHooks } from '../support/with-hooks.ts';

const app = await startRestApp();
const UID = /^[0-9a-f]{13}$/;
const UNKNOWN = '0000000000000';

const rightBody = (changes: object = {}) => ({
  email: `${newUid()}@new.example`,
  first_name: 'Ada',
  last_name: 'Lovelace',
  timezone: 'Europe/London',
  language_id: 1,
  password: 'analytical engine',
  ...changes,
});
const create = (body: object, headers = {}) => app.rest('/customers', { method: 'POST', body, headers });
interface Created {
  customer_uid: string;
  api_token: string;
}
const created = ({ body }: RestAnswer) => body as Created;
const newCustomer = async (changes: object = {}) => {
  const body = rightBody(changes);
  return { ...created(await create(body)), ...body };
};
const logIn = (email: string, password: string) =>
  app.rest('/user/login', { method: 'POST', token: null, body: { email, password } });

describe('creating', () => {
  test('answers the uid and the token, which works and is shown this once', async () => {
    const body = rightBody();
    const answer = await create(body);
    expect(answer).toMatchObject({
      status: 201,
      body: {
        status: 1,
        message: 'Customer was successfully created',
        customer_uid: expect.stringMatching(UID),
        api_token: expect.stringMatching(/^\w{60}$/),
      },
    });
    const { customer_uid: uid, api_token: token } = created(answer);
    expect((await app.rest('/me', { token })).body).toMatchObject({
      email: body.email,
      first_name: 'Ada',
      is_admin: false,
      customer: { uid, name: 'Ada Lovelace', status: 'active' },
    });
    expect(await logIn(body.email, body.password)).toMatchObject({ status: 200 });
    const read = await app.rest(`/customers/${uid}`);
    expect(read.text).not.toContain(token);
    expect(read.body).toEqual({
      customer: {
        uid,
        name: 'Ada Lovelace',
        email: body.email,
        first_name: 'Ada',
        last_name: 'Lovelace',
        image: null,
        contact: {},
        timezone: 'Europe/London',
        language_id: 1,
        status: 'active',
        options: [],
        current_period_ends_at: null,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
        updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      },
    });
  });

  test('takes forms with more fields than it knows; the classic dialect answers 200', async () => {
    const body = new URLSearchParams({
      email: `${newUid()}@form.example`,
      password: 'analytical engine',
      first_name: 'Form',
      last_name: 'Client',
      timezone: 'America/New_York',
      language_id: '1',
      color_scheme: 'blue',
      'text-direction': 'ltr',
    });
    const answer = await app.rest('/customers', { method: 'POST', body, headers: { 'X-Api-Dialect': 'classic' } });
    expect(answer).toMatchObject({ status: 200, body: { status: 1, customer_uid: expect.stringMatching(UID) } });
  });

  test.each([
    ['nothing at all', {}, ['email', 'password']],
    ['a wrong address', rightBody({ email: 'a@b@c' }), ['email']],
    ['no zone', rightBody({ timezone: 'Mars/Olympus' }), ['timezone']],
    ['an offset for a zone', rightBody({ timezone: '+01:00' }), ['timezone']],
    ['a short password', rightBody({ password: 'short' }), ['password']],
    ['a common password', rightBody({ password: 'password123' }), ['password']],
    ['names with line breaks', rightBody({ first_name: 'a\r\nb' }), ['first_name']],
    ['a language that is no number', rightBody({ language_id: 'English' }), ['language_id']],
    [
      'all of it at once',
      { email: 'x', password: 'y', timezone: 'z', first_name: 'a\nb' },
      ['email', 'first_name', 'password', 'timezone'],
    ],
  ])('%s is a 422 that names the fields, and nothing is stored', async (_what, body, fields) => {
    const count = () => queryRows(app.ctx.db, sql`SELECT count(*) FROM customer`);
    const before = await count();
    const answer = await create(body);
    expect(answer.status).toBe(422);
    expect(Object.keys((answer.body as { errors: object }).errors).toSorted()).toEqual(fields.toSorted());
    expect(await count()).toEqual(before);
  });

  test('an address belongs to one user of the installation, however it is spelled and however many ask at once', async () => {
    const email = `${newUid()}@race.example`;
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, no) => create(rightBody({ email: no % 2 ? email : email.toUpperCase() }))),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 422)).toHaveLength(49);
    expect(answers.find(({ status }) => status === 422)?.body).toMatchObject({
      errors: { email: ['The email has already been taken.'] },
    });
    const rows = await queryRows(
      app.ctx.db,
      sql`SELECT 1 FROM customer WHERE name = 'Ada Lovelace' AND id NOT IN (SELECT customer_id FROM app_user)`,
    );
    expect(rows).toEqual([]);
  });

  test('fires the hook from the event record, with the customer', async () => {
    const heard: unknown[] = [];
    withHooks(app.hooks, {
      boot: (hooks) =>
        hooks.on('customer_added', async (customer) => {
          const [row] = await queryRows(app.ctx.database, sql`SELECT 1 FROM customer WHERE uid = ${customer.uid}`);
          heard.push({ ...customer, isThere: row !== undefined });
        }),
    });
    const following = await startFollowers(app.ctx, [hooksFollower(app.ctx)]);
    const { customer_uid: uid, email } = await newCustomer();
    await caughtUp(app.ctx.db, 'hooks');
    await following.stop(5_000);
    expect(heard).toContainEqual(expect.objectContaining({ uid, email, firstName: 'Ada', isThere: true }));
  });
});

describe('reading', () => {
  test('by uid and by address, raw and encoded', async () => {
    const { customer_uid: uid, email } = await newCustomer({ email: `a+b-${newUid()}@plus.example` });
    for (const address of [email, encodeURIComponent(email), email.toUpperCase()]) {
      expect((await app.rest(`/customers/by-email/${address}`)).body).toMatchObject({ customer: { uid, email } });
    }
    for (const path of [`/customers/${UNKNOWN}`, '/customers/nonsense', '/customers/by-email/nobody@nowhere.example'])
      expect((await app.rest(path)).status, path).toBe(404);
  });

  test('in pages that end, in both dialects, and by keyword', async () => {
    const word = `Zeta${newUid()}`;
    for (let no = 0; no < 3; no++) await newCustomer({ last_name: word });
    const page = (query: string, headers = {}) =>
      app.rest(`/customers?keyword=${word.toLowerCase()}&${query}`, { headers });
    expect((await page('per_page=2')).body).toMatchObject({
      data: [{ last_name: word }, { last_name: word }],
      meta: { current_page: 1, per_page: 2, total: 3, last_page: 2 },
    });
    expect((await page('per_page=2&page=0')).body).toEqual((await page('per_page=2&page=1')).body);
    expect((await page('per_page=2&page=9')).body).toMatchObject({ data: [] });
    const classic = await page('', { 'X-Api-Dialect': 'classic' });
    expect(classic.body).toEqual([
      expect.objectContaining({ uid: expect.stringMatching(UID) }),
      expect.anything(),
      expect.anything(),
    ]);
    expect(classic.headers.get('x-total-count')).toBe('3');
    expect((await app.rest('/customers?keyword=%25')).body).toMatchObject({ meta: { total: 0 } });
  });

  test('a page takes as many statements as it has rows: a constant number', NOISE, async () => {
    const of = async (perPage: number) =>
      (await countStatements(() => app.rest(`/customers?per_page=${perPage}`))).statements.length;
    await of(1);
    expect(await of(50)).toBe(await of(1));
  });
});

describe('changing', () => {
  test('leaves alone what is not given, and answers the customer', async () => {
    const { customer_uid: uid, email } = await newCustomer();
    const answer = await app.rest(`/customers/${uid}`, {
      method: 'PATCH',
      body: { last_name: 'King', password: '', email: '' },
    });
    expect(answer).toMatchObject({
      status: 200,
      body: {
        customer: { uid, email, first_name: 'Ada', last_name: 'King', name: 'Ada King', timezone: 'Europe/London' },
      },
    });
    expect((await logIn(email, 'analytical engine')).status).toBe(200);
  });

  test('of the address: a taken one is a 422, a free one logs in', async () => {
    const [one, other] = [await newCustomer(), await newCustomer()];
    const change = (email: string) =>
      app.rest(`/customers/${one.customer_uid}`, { method: 'PATCH', body: { email, first_name: 'Changed' } });
    expect(await change(other.email)).toMatchObject({ status: 422, body: { errors: { email: [expect.any(String)] } } });
    expect((await app.rest(`/customers/${one.customer_uid}`)).body).toMatchObject({ customer: { first_name: 'Ada' } });
    const fresh = `${newUid()}@fresh.example`;
    expect((await change(fresh)).status).toBe(200);
    expect((await logIn(fresh, one.password)).status).toBe(200);
    expect((await logIn(one.email, one.password)).status).toBe(401);
  });

  test('of the password ends logins and keeps the API token (E5)', async () => {
    const { customer_uid: uid, email, api_token: token } = await newCustomer();
    const login = (await logIn(email, 'analytical engine')).body as { token: string };
    const answer = await app.rest(`/customers/${uid}`, { method: 'PATCH', body: { password: 'difference engine' } });
    expect(answer.text).not.toContain('difference');
    expect((await app.rest('/me', { token: login.token })).status).toBe(401);
    expect((await app.rest('/me', { token })).status).toBe(200);
    expect((await logIn(email, 'analytical engine')).status).toBe(401);
    expect((await logIn(email, 'difference engine')).status).toBe(200);
  });
});

describe('disabling', () => {
  test('refuses login and tokens at once, enabling brings the tokens back', async () => {
    const { customer_uid: uid, email, password, api_token: token } = await newCustomer();
    const login = (await logIn(email, password)).body as { token: string };
    const turn = (act: string) => app.rest(`/customers/${uid}/${act}`, { method: 'PATCH' });
    for (let time = 0; time < 2; time++)
      expect(await turn('disable')).toMatchObject({
        status: 200,
        body: { status: 1, message: 'Customer was disabled', customer_uid: uid },
      });
    expect((await app.rest(`/customers/${uid}`)).body).toMatchObject({ customer: { status: 'disabled' } });
    expect((await logIn(email, password)).status).toBe(403);
    expect((await app.rest('/me', { token })).status).toBe(401);
    for (let time = 0; time < 2; time++)
      expect(await turn('enable')).toMatchObject({
        status: 200,
        body: { status: 1, message: 'Customer was enabled', customer_uid: uid },
      });
    expect((await app.rest('/me', { token })).status).toBe(200);
    // The login is over, not asleep.
    expect((await app.rest('/me', { token: login.token })).status).toBe(401);
    expect((await logIn(email, password)).status).toBe(200);
  });

  test('neither the house nor the own customer can be disabled or deleted', async () => {
    const me = (await app.rest('/me')).body as { customer: { uid: string } };
    for (const [method, path] of [
      ['PATCH', '/disable'],
      ['DELETE', ''],
    ] as const) {
      const answer = await app.rest(`/customers/${me.customer.uid}${path}`, { method });
      expect(answer).toMatchObject({ status: 422, body: { errors: { status: [expect.any(String)] } } });
    }
    expect((await app.rest('/me')).status).toBe(200);
  });
});

test('a deleted customer is gone at once, and its address is free', async () => {
  const { customer_uid: uid, email, password, api_token: token } = await newCustomer();
  const before = (await app.rest('/customers')).body as { meta: { total: number } };
  expect(await app.rest(`/customers/${uid}`, { method: 'DELETE' })).toMatchObject({
    status: 200,
    body: { status: 1, message: 'Deleted', customer_uid: uid },
  });
  expect((await app.rest('/me', { token })).status).toBe(401);
  expect((await logIn(email, password)).status).toBe(401);
  expect((await app.rest('/customers')).body).toMatchObject({ meta: { total: before.meta.total - 1 } });
  for (const [method, path] of [
    ['GET', ''],
    ['PATCH', ''],
    ['PATCH', '/enable'],
    ['DELETE', ''],
  ] as const)
    expect((await app.rest(`/customers/${uid}${path}`, { method })).status, `${method} ${path}`).toBe(404);
  expect((await create(rightBody({ email }))).status).toBe(201);
});

test('nobody but an administrator gets in, and nothing changes', async () => {
  const { token } = await app.newTenant();
  const { customer_uid: uid, email } = await newCustomer();
  const scoped = await app.newTenant({ scopes: ['admin'] });
  for (const [method, path] of [
    ['GET', '/customers'],
    ['POST', '/customers'],
    ['GET', `/customers/${uid}`],
    ['GET', `/customers/by-email/${email}`],
    ['PATCH', `/customers/${uid}`],
    ['PATCH', `/customers/${uid}/enable`],
    ['PATCH', `/customers/${uid}/disable`],
    ['DELETE', `/customers/${uid}`],
  ] as const) {
    for (const one of [token, scoped.token]) {
      const answer = await app.rest(path, { method, token: one, ...(method === 'GET' ? {} : { body: rightBody() }) });
      expect(answer.status, `${method} ${path}`).toBe(403);
      expect(answer.text).not.toContain(email);
    }
  }
  expect((await app.rest(`/customers/${uid}`)).body).toMatchObject({ customer: { email, status: 'active' } });
});

test('GraphQL and REST leave the same rows', async () => {
  const graphql = async (query: string, variables: object) => {
    const response = await fetch(`${app.baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${app.adminToken}` },
      body: JSON.stringify({ query, variables }),
    });
    const { data } = JSON.parse(await response.text());
    return data;
  };
  const stored = async (uid: string) => {
    const rows = await queryRows<{ text: string }>(
      app.ctx.db,
      sql`
      SELECT jsonb_build_object('name', c.name, 'status', c.status, 'zone', c.timezone, 'language', c.language_id, 'house', c.is_operator,
               'user', to_jsonb(u) - ARRAY['id', 'uid', 'customer_id', 'email', 'email_key', 'password_hash', 'created_at', 'updated_at'],
               'tokens', (SELECT jsonb_agg(jsonb_build_object('kind', t.kind, 'name', t.name, 'scopes', t.scopes)) FROM api_token t
                           WHERE t.customer_id = c.id)) AS text
        FROM customer c JOIN app_user u ON u.customer_id = c.id WHERE c.uid = ${uid}`,
    );
    return rows;
  };
  const byRest = await newCustomer();
  const { createCustomer } = await graphql(
    `mutation ($input: CreateCustomerInput!) {
      createCustomer(input: $input) { ... on CreatedCustomer { apiToken customer { uid owner { email } currentPeriodEndsAt } } } }`,
    {
      input: {
        ...{ email: `${newUid()}@twin.example`, password: 'analytical engine', firstName: 'Ada', lastName: 'Lovelace' },
        ...{ timezone: 'Europe/London', languageId: 1 },
      },
    },
  );
  const { uid } = createCustomer.customer;
  expect(await stored(uid)).toEqual(await stored(byRest.customer_uid));
  expect((await app.rest('/me', { token: createCustomer.apiToken })).status).toBe(200);
  const UPDATE = `mutation ($input: UpdateCustomerInput!) { updateCustomer(input: $input) { ... on Customer { name timezone } } }`;
  await graphql(UPDATE, { input: { uid, lastName: null, timezone: null } });
  await app.rest(`/customers/${byRest.customer_uid}`, { method: 'PATCH', body: { last_name: '', timezone: '' } });
  expect(await stored(uid)).toEqual(await stored(byRest.customer_uid));
  await graphql('mutation ($uid: String!) { disableCustomer(uid: $uid) { __typename } }', { uid });
  await app.rest(`/customers/${byRest.customer_uid}/disable`, { method: 'PATCH' });
  expect(await stored(uid)).toEqual(await stored(byRest.customer_uid));
  const { customers } = await graphql(
    'query ($keyword: String) { customers(first: 5, keyword: $keyword) { ... on CustomerConnection { nodes { uid status owner { email } } pageInfo { hasNextPage } } } }',
    { keyword: '@TWIN.example' },
  );
  expect(customers).toMatchObject({ nodes: [{ uid, status: 'disabled' }], pageInfo: { hasNextPage: false } });
});
