/** Lists over REST in both dialects, each act seen again over GraphQL; hostile input never makes a 500. */
import { describe, expect, test } from 'vitest';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp();
const owner = await app.newTenant();
const classic = await app.newTenant({ restDialect: 'classic' });
const stranger = await app.newTenant();

const contact = {
  company: 'Acme',
  address_1: '1 High St',
  city: 'Bath',
  state: 'BA',
  zip: '1',
  phone: '1',
  country_id: 1,
  email: 'o@x.co',
};
const right = { name: 'Friends', from_email: 'news@x.co', from_name: 'News', default_subject: 'Hello', contact };
const post = (body: unknown, token = owner.token) => app.rest('/lists', { method: 'POST', body, token });
const as = (token: string, method = 'GET', body?: unknown) => ({
  token,
  method,
  ...(body === undefined ? {} : { body }),
});

async function newList(changes: object = {}, token = owner.token): Promise<string> {
  const { body } = await post({ ...right, ...changes }, token);
  return (body as { list_uid: string }).list_uid;
}

async function graphql(query: string, variables: object, token = owner.token): Promise<Record<string, unknown>> {
  const answer = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables }),
  });
  return ((await answer.json()) as { data: Record<string, unknown> }).data;
}

describe('standard', () => {
  test('creates with 201 and reads what GraphQL reads', async () => {
    const created = await post({ ...right, subject: undefined, subscribe_confirmation: '1', remind_message: 'Hi' });
    expect(created).toMatchObject({
      status: 201,
      body: { status: 1, message: 'List was successfully created', list_uid: expect.stringMatching(/^[0-9a-f]{13}$/) },
    });
    const { list_uid: uid } = created.body as { list_uid: string };
    const { body } = await app.rest(`/lists/${uid}`, as(owner.token));
    expect(body).toMatchObject({
      list: {
        ...{
          uid,
          name: 'Friends',
          default_subject: 'Hello',
          from_email: 'news@x.co',
          from_name: 'News',
          remind_message: 'Hi',
          status: 'active',
        },
        ...{ subscribe_confirmation: 1, send_welcome_email: 0, unsubscribe_notification: 0 },
        ...{ send_goodbye_email: 0, public_signup: 0, show_in_preferences: 0 },
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
        fields: [
          { key: 'EMAIL', type: 'string', tag: 'EMAIL', visible: '1', required: true, custom_order: null },
          { key: 'FIRST_NAME', type: 'text', required: false },
          { key: 'LAST_NAME' },
        ],
      },
      contact: { company: 'Acme', address_2: '', country: 'Afghanistan', email: 'o@x.co' },
      statistics: {
        subscriber_count: 0,
        open_uniq_rate: 0,
        click_rate: 0,
        subscribe_rate: 0,
        unsubscribe_rate: 0,
        unsubscribe_count: 0,
        unconfirmed_count: 0,
      },
    });
    const twin = await graphql(
      'query ($uid: String!) { list(uid: $uid) { ... on MailList { name subscribeConfirmation } } }',
      { uid },
    );
    expect(twin['list']).toEqual({ name: 'Friends', subscribeConfirmation: true });
  });

  test('indexes in pages', async () => {
    const tenant = await app.newTenant();
    for (const name of ['a', 'b', 'c']) await newList({ name }, tenant.token);
    const { body, headers } = await app.rest('/lists?per_page=2&page=2', as(tenant.token));
    expect(body).toMatchObject({
      data: [{ name: 'c', default_subject: 'Hello' }],
      meta: { current_page: 2, per_page: 2, from: 3, to: 3, last_page: 2, total: 3 },
    });
    expect(headers.get('x-total-count')).toBe('3');
    expect((await app.rest('/lists?page=99', as(tenant.token))).body).toMatchObject({ data: [], meta: { from: null } });
  });

  test('changes, adds fields by POST and GET, deletes', async () => {
    const uid = await newList();
    const changed = await app.rest(
      `/lists/${uid}`,
      as(owner.token, 'PATCH', new URLSearchParams('name=Family&contact[city]=York&send_welcome_email=on')),
    );
    expect(changed).toMatchObject({ status: 200, body: { status: 1, list_uid: uid } });
    expect((await app.rest(`/lists/${uid}`, as(owner.token))).body).toMatchObject({
      list: { name: 'Family', from_name: 'News' },
      contact: { city: 'York', zip: '1' },
    });
    const posted = await app.rest(
      `/lists/${uid}/add-field`,
      as(owner.token, 'POST', { type: 'number', label: 'Age', tag: 'age', default_value: '18' }),
    );
    expect(posted).toMatchObject({
      status: 201,
      body: {
        status: 1,
        message: "List's field was created",
        field: {
          type: 'number',
          label: 'Age',
          tag: 'AGE',
          default_value: '18',
          uid: expect.any(String),
          mail_list_id: expect.any(Number),
        },
      },
    });
    const got = await app.rest(`/lists/${uid}/add-field?type=text&label=Town&tag=TOWN`, as(owner.token));
    expect(got).toMatchObject({ status: 200, body: { field: { tag: 'TOWN', default_value: null } } });
    expect(
      await app.rest(`/lists/${uid}/add-field`, as(owner.token, 'POST', { type: 'x', label: 'Age', tag: 'AGE' })),
    ).toMatchObject({ status: 422, body: { errors: { type: expect.anything() } } });
    expect(
      await app.rest(`/lists/${uid}/add-field`, as(owner.token, 'POST', { type: 'text', label: 'Age', tag: 'AGE' })),
    ).toMatchObject({ status: 422, body: { errors: { tag: ['The tag AGE has already been taken.'] } } });
    expect(await app.rest(`/lists/${uid}`, as(owner.token, 'DELETE'))).toMatchObject({
      status: 200,
      body: { status: 1, message: 'Deleted' },
    });
    expect(await app.rest(`/lists/${uid}`, as(owner.token))).toMatchObject({
      status: 404,
      body: { message: expect.any(String) },
    });
  });

  test('names every fault as the client spells it', async () => {
    const { status, body } = await post({ subject: '', from_email: 'x', contact: { country_id: 'abc' } });
    expect(status).toBe(422);
    expect(body).toMatchObject({ message: expect.any(String), errors: { 'contact.country_id': expect.anything() } });
    const { body: whole } = await post({ from_email: 'x' });
    expect(Object.keys((whole as { errors: object }).errors).sort()).toEqual([
      ...[
        'contact.address_1',
        'contact.city',
        'contact.company',
        'contact.country_id',
        'contact.email',
        'contact.phone',
        'contact.state',
        'contact.zip',
      ],
      ...['default_subject', 'from_email', 'from_name', 'name'],
    ]);
    expect(whole).toMatchObject({
      errors: { name: ['The name field is required.'], 'contact.country_id': ['The country id field is required.'] },
    });
  });
});

describe('classic', () => {
  test('creates with 200 and a brief contact, indexes as a bare array', async () => {
    const brief = { ...right, contact: { company: 'Acme', country_id: '2', email: 'o@x.co' } };
    expect((await post(brief)).status).toBe(422);
    expect(await post(brief, classic.token)).toMatchObject({
      status: 200,
      body: { status: 1, message: 'List was successfully created' },
    });
    const { body } = await app.rest('/lists', as(classic.token));
    expect(body).toMatchObject([{ name: 'Friends', from_email: 'news@x.co' }]);
  });

  test('by its header too, with everything in a JSON body of a GET', async () => {
    const { status, body } = await app.rest('/lists?page=0&per_page=5000', {
      token: owner.token,
      headers: { 'x-api-dialect': 'classic' },
    });
    expect(status).toBe(200);
    expect(Array.isArray(body)).toBe(true);
  });
});

test.each([
  ['standard', owner],
  ['classic', classic],
] as const)('show_in_preferences is set, read and cleared, %s dialect', async (_dialect, { token }) => {
  const uid = await newList({ show_in_preferences: 'on' }, token);
  const read = async () => (await app.rest(`/lists/${uid}`, as(token))).body;
  const twin = async () =>
    graphql('query ($uid: String!) { list(uid: $uid) { ... on MailList { showInPreferences } } }', { uid }, token);
  expect(await read()).toMatchObject({ list: { show_in_preferences: 1 } });
  expect(await twin()).toEqual({ list: { showInPreferences: true } });
  expect((await app.rest(`/lists/${uid}`, as(token, 'PATCH', { name: 'Other' }))).status).toBe(200);
  expect(await read()).toMatchObject({ list: { name: 'Other', show_in_preferences: 1 } });
  expect((await app.rest(`/lists/${uid}`, as(token, 'PATCH', { show_in_preferences: 'maybe' }))).status).toBe(422);
  await app.rest(`/lists/${uid}`, as(token, 'PATCH', { show_in_preferences: 0 }));
  expect(await read()).toMatchObject({ list: { show_in_preferences: 0 } });
  expect(await twin()).toEqual({ list: { showInPreferences: false } });
});

describe('strangers', () => {
  test('are told 401, 403 and 404 as the table says', async () => {
    const uid = await newList();
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { name: 'Mine' }],
      ['DELETE', '', undefined],
      ['POST', '/add-field', { type: 'text', label: 'L', tag: 'T' }],
    ] as const) {
      expect((await app.rest(`/lists/${uid}${path}`, { method, token: null, ...(body ? { body } : {}) })).status).toBe(
        401,
      );
      expect((await app.rest(`/lists/${uid}${path}`, as(stranger.token, method, body))).status).toBe(403);
      for (const wrong of ['0123456789abc', 'x', '%00', '..%2f', 'é']) {
        expect([404, 422]).toContain((await app.rest(`/lists/${wrong}${path}`, as(owner.token, method, body))).status);
      }
    }
    expect((await app.rest(`/lists/${uid}`, as(owner.token))).body).toMatchObject({ list: { name: 'Friends' } });
  });
});

describe('hostile input', () => {
  const values = [
    '',
    null,
    [],
    {},
    [1],
    7,
    true,
    'a\r\nBcc: x@y.co',
    'x'.repeat(1_000_000),
    '\u0000',
    '\u2028',
    "'; DROP TABLE mail_list; --",
  ];
  const names = [
    'name',
    'from_email',
    'from_name',
    'default_subject',
    'contact',
    'remind_message',
    'subscribe_confirmation',
    'type',
    'label',
    'tag',
    'default_value',
  ];

  test.each(names)('in %s is a 4xx with a message or a success, never a 500', async (name) => {
    const uid = await newList();
    for (const value of values) {
      const answers = [
        await post({ ...right, [name]: value }),
        await app.rest(`/lists/${uid}`, as(owner.token, 'PATCH', { [name]: value })),
        await app.rest(
          `/lists/${uid}/add-field`,
          as(owner.token, 'POST', {
            type: 'text',
            label: 'L',
            tag: `T${Math.random().toString(36).slice(2)}`,
            [name]: value,
          }),
        ),
      ];
      for (const { status, body } of answers) {
        expect([200, 201, 422]).toContain(status);
        if (status === 422)
          expect(body).toMatchObject({ message: expect.stringMatching(/./), errors: expect.anything() });
      }
    }
  });

  test('broken bodies are refused', async () => {
    for (const body of ['{"name":', '"text"', '[1]', '{"name": "\\ud800"}']) {
      const { status } = await app.rest('/lists', { method: 'POST', body, token: owner.token });
      expect(status).toBe(422);
    }
    expect(app.logged.filter((line) => line.includes('defect'))).toEqual([]);
  });
});

test('countries', async () => {
  const { body } = await app.rest('/countries', as(owner.token));
  expect(body).toEqual(expect.arrayContaining([{ id: 1, code: 'AF', name: 'Afghanistan' }]));
});
