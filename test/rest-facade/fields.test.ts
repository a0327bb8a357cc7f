/** Custom fields (decisions D16, D58): settings, types with options, and what becomes of values when a field changes or goes. */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { linkSignerOf } from '../../src/domain/tracking/link-signer.ts';
import { recipientOfCampaign } from '../../src/domain/tracking/tracking.ts';
import { CONTACT, LIST_BODY } from '../support/list-body.ts';
import { field, until } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp({ ROLES: 'web,worker' });
const owner = await app.newTenant();
const classic = await app.newTenant({ restDialect: 'classic' });
const stranger = await app.newTenant();

const call = (method: string, path: string, body: unknown = {}, token = owner.token) =>
  app.rest(path, { method, ...(method === 'GET' ? {} : { body }), token });
const newList = async (more: object = {}, token = owner.token) =>
  String(field(await call('POST', '/lists', { ...LIST_BODY, contact: CONTACT, ...more }, token), 'list_uid'));
const addField = (list: string, body: object, token = owner.token) =>
  call('POST', `/lists/${list}/add-field`, { type: 'text', label: 'Nick', tag: 'NICK', ...body }, token);
const add = (list: string, body: object) => call('POST', '/subscribers', { list_uid: list, ...body });
const errorsOf = (answer: Awaited<ReturnType<typeof call>>) => [answer.status, field(answer, 'errors')];

interface FieldBody {
  readonly uid: string;
  readonly tag: string;
  readonly created_at: string;
  readonly updated_at: string;
}
const fieldsOf = async (list: string, token = owner.token) =>
  field(await call('GET', `/lists/${list}`, {}, token), 'list', 'fields') as FieldBody[];
const personOf = async (list: string, email: string) =>
  Object(field(await call('GET', `/subscribers/email/${email}?list_uid=${list}`), 'subscribers'))[0];

async function graphql(query: string, variables: object): Promise<Record<string, unknown>> {
  const answer = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${owner.token}` },
    body: JSON.stringify({ query, variables }),
  });
  return Object((await answer.json()) as object).data;
}

const COLOURS = { type: 'multiselect', label: 'Colours', tag: 'COLOURS', options: ['Red', 'Green', 'Dark Blue'] };

async function importFile(list: string, file: string) {
  const form = new FormData();
  form.append('file', new Blob([file]), 'people.csv');
  const uid = String(field(await call('POST', `/lists/${list}/import`, form), 'import_uid'));
  return until(async () => {
    const report = Object(field(await call('GET', `/lists/${list}/imports/${uid}`), 'import'));
    return ['queued', 'running'].includes(report.status) ? undefined : report;
  });
}

describe.each([
  ['standard', owner, 201],
  ['classic', classic, 200],
] as const)('%s', (_dialect, { token }, createdStatus) => {
  test('add-field obeys every setting, and reads show uid and times', async () => {
    const list = await newList({}, token);
    const settings = { visible: '0', required: 'yes', default_value: 'red', custom_order: 1 };
    const added = await addField(list, { ...settings, type: 'dropdown', options: 'Red, Green' }, token);
    expect(added.status, added.text).toBe(createdStatus);
    const shown = {
      ...{ type: 'dropdown', tag: 'NICK', label: 'Nick', default_value: 'Red', visible: '0', required: true },
      ...{ custom_order: 1, options: ['Red', 'Green'] },
      uid: expect.stringMatching(/^[0-9a-f]{13}$/),
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
    };
    expect(field(added, 'field')).toMatchObject(shown);
    const fields = await fieldsOf(list, token);
    // EMAIL is first, then by custom_order.
    expect(fields.map(({ tag }) => tag)).toEqual(['EMAIL', 'NICK', 'FIRST_NAME', 'LAST_NAME']);
    expect(fields[1]).toMatchObject(shown);
    for (const one of fields) expect(one).toMatchObject({ uid: expect.stringMatching(/^[0-9a-f]{13}$/) });
    expect(new Set(fields.map(({ uid }) => uid)).size).toBe(4);
    const got = await call(
      'GET',
      `/lists/${list}/add-field?type=text&label=T&tag=T&visible=no&custom_order=`,
      {},
      token,
    );
    expect(field(got, 'field')).toMatchObject({ visible: '0', required: false, custom_order: null, options: [] });
  });

  test('PATCH changes what is given, DELETE removes; EMAIL stays', async () => {
    const list = await newList({}, token);
    const uid = String(field(await addField(list, { default_value: 'Bo' }, token), 'field', 'uid'));
    const changed = await call('PATCH', `/lists/${list}/fields/${uid}`, { label: 'Name', visible: 0 }, token);
    expect([changed.status, field(changed, 'field')]).toMatchObject([
      200,
      { uid, label: 'Name', visible: '0', default_value: 'Bo', type: 'text' },
    ]);
    // A tag names a field, too.
    expect((await call('PATCH', `/lists/${list}/fields/nick`, { default_value: '' }, token)).status).toBe(200);
    expect((await fieldsOf(list, token)).at(-1)).toMatchObject({ tag: 'NICK', default_value: null, label: 'Name' });
    const [email] = await fieldsOf(list, token);
    for (const name of [email?.uid, 'EMAIL'])
      for (const method of ['PATCH', 'DELETE'])
        expect((await call(method, `/lists/${list}/fields/${name}`, {}, token)).status, `${method} ${name}`).toBe(422);
    const gone = await call('DELETE', `/lists/${list}/fields/${uid}`, {}, token);
    expect([gone.status, gone.body]).toEqual([200, { status: 1, message: 'Deleted', field_uid: uid }]);
    expect((await fieldsOf(list, token)).map(({ tag }) => tag)).toEqual(['EMAIL', 'FIRST_NAME', 'LAST_NAME']);
    expect((await call('DELETE', `/lists/${list}/fields/${uid}`, {}, token)).status).toBe(404);
  });
});

test('a field of another tenant is a 403, also under an own list', async () => {
  const list = await newList();
  const foreignList = await newList({}, stranger.token);
  const foreign = String(field(await addField(foreignList, {}, stranger.token), 'field', 'uid'));
  for (const path of [`/lists/${list}/fields/${foreign}`, `/lists/${foreignList}/fields/${foreign}`])
    for (const method of ['PATCH', 'DELETE']) expect((await call(method, path)).status, `${method} ${path}`).toBe(403);
});

test('settings that cannot be are refused, naming the parameter', async () => {
  const list = await newList();
  const cases: [object, string][] = [
    [{ type: 'dropdown' }, 'options'],
    [{ type: 'text', options: ['a'] }, 'options'],
    [{ type: 'radio', options: ['a', 'A'] }, 'options'],
    [{ type: 'checkbox', options: ['a,b'] }, 'options'],
    [{ type: 'dropdown', options: [['a']] }, 'options'],
    [{ type: 'dropdown', options: Array.from({ length: 101 }, (_, no) => `o${no}`) }, 'options'],
    [{ type: 'dropdown', options: ['a'], default_value: 'b' }, 'default_value'],
    [{ type: 'number', default_value: 'many' }, 'default_value'],
    [{ type: 'date', default_value: '2026-02-30' }, 'default_value'],
    [{ type: 'blob' }, 'type'],
    [{ custom_order: -1 }, 'custom_order'],
    [{ visible: 'perhaps' }, 'visible'],
  ];
  for (const [body, name] of cases) {
    const [status, errors] = errorsOf(await addField(list, body));
    expect([status, Object.keys(Object(errors))], JSON.stringify(body)).toEqual([422, [name]]);
  }
  expect((await fieldsOf(list)).length).toBe(3);
});

test('values of each type are checked, and kept in one spelling', async () => {
  const list = await newList();
  await addField(list, COLOURS);
  await addField(list, { type: 'radio', tag: 'SIZE', options: ['S', 'Large, very'] });
  await addField(list, { type: 'date', tag: 'BORN' });
  await addField(list, { type: 'textarea', tag: 'NOTE' });
  await addField(list, { type: 'checkbox', tag: 'AGREED', options: ['yes'] });
  const values = {
    COLOURS: ['dark blue', 'RED'],
    SIZE: 'large, very',
    BORN: '2001-02-03',
    NOTE: 'a\nb',
    AGREED: 'Yes',
  };
  expect((await add(list, { EMAIL: 'a@x.co', ...values })).status).toBe(201);
  const stored = { COLOURS: 'Red, Dark Blue', SIZE: 'Large, very', BORN: '2001-02-03', NOTE: 'a\nb', AGREED: 'yes' };
  expect(await personOf(list, 'a@x.co')).toMatchObject(stored);
  const wrong = { COLOURS: 'red,pink', SIZE: 'M', BORN: '2001-02-03 10:00', NOTE: 'a\u0001', AGREED: 'no' };
  const [status, errors] = errorsOf(await add(list, { EMAIL: 'b@x.co', ...wrong }));
  expect(status).toBe(422);
  expect(Object.keys(Object(errors)).toSorted()).toEqual(['AGREED', 'BORN', 'COLOURS', 'NOTE', 'SIZE']);
  expect(Object(errors)['COLOURS']).toEqual([expect.stringContaining('Red, Green, Dark Blue')]);
  // GraphQL takes the same values.
  const made = await graphql(
    `mutation ($input: AddSubscriberInput!) { addSubscriber(input: $input) { ... on Subscriber { fieldValues } } }`,
    { input: { listUid: list, email: 'c@x.co', fieldValues: values } },
  );
  expect(made).toMatchObject({ addSubscriber: { fieldValues: stored } });
  // A download can be imported again.
  const csv = (await call('GET', `/lists/${list}/export`)).text;
  expect(csv).toContain('"Red, Dark Blue"');
  const copy = await newList();
  await addField(copy, COLOURS);
  const report = await importFile(copy, `${csv}d@x.co,subscribed,,,,"Green;Pink"\n`);
  expect(report).toMatchObject({ status: 'done', added: 2, rejected: 1 });
  expect(await personOf(copy, 'a@x.co')).toMatchObject({ COLOURS: 'Red, Dark Blue' });
});

test('defaults are used and required fields demanded, by API and import', async () => {
  const list = await newList();
  await addField(list, { required: 1 });
  await addField(list, { tag: 'PLAN', required: 1, default_value: 'free' });
  expect(errorsOf(await add(list, { EMAIL: 'a@x.co' }))).toEqual([422, { NICK: ['The NICK field is required.'] }]);
  expect((await add(list, { EMAIL: 'a@x.co', NICK: 'Al', PLAN: '' })).status).toBe(201);
  expect(await personOf(list, 'a@x.co')).toMatchObject({ NICK: 'Al', PLAN: 'free' });
  expect(errorsOf(await call('PATCH', `/subscribers/a@x.co?list_uid=${list}`, { NICK: '' }))).toEqual([
    422,
    { NICK: ['The NICK field is required.'] },
  ]);
  // A person of the list may be updated by a line without the value; a new person may not come without it.
  const report = await importFile(list, 'email,nick,plan,first name\na@x.co,,gold,Ann\nb@x.co,,,B\nc@x.co,Cy,,C\n');
  expect(report).toMatchObject({ status: 'done', processed: 3, added: 1, updated: 1, rejected: 1 });
  const rejected = await app.rest(new URL(report.rejected_url).pathname.replace('/api/v1', ''), { token: owner.token });
  expect(rejected.text).toContain('3,NICK is required and has no value,b@x.co');
  expect(await personOf(list, 'a@x.co')).toMatchObject({ NICK: 'Al', PLAN: 'gold', FIRST_NAME: 'Ann' });
  expect(await personOf(list, 'c@x.co')).toMatchObject({ NICK: 'Cy', PLAN: 'free' });
});

describe('public pages', () => {
  const post = async (path: string, body: URLSearchParams) => {
    const answer = await fetch(`${app.baseUrl}${path}`, { method: 'POST', body });
    return [answer.status, await answer.text()] as const;
  };

  test('an invisible field is neither shown nor accepted', async () => {
    const list = await newList({ public_signup: 1 });
    await addField(list, { tag: 'HIDDEN', visible: 0, required: 1 });
    await addField(list, { tag: 'GIVEN', visible: 0, default_value: 'web' });
    await addField(list, COLOURS);
    const page = await (await fetch(`${app.baseUrl}/signup/${list}`)).text();
    expect(page).not.toContain('HIDDEN');
    expect(page).toContain('<option>Dark Blue</option>');
    const form = new URLSearchParams({ EMAIL: 'form@x.co', HIDDEN: 'x' });
    for (const colour of ['', 'Red', 'Green']) form.append('COLOURS', colour);
    expect((await post(`/signup/${list}`, form))[0]).toBe(200);
    const hidden = { list_uid: list, EMAIL: 'api@x.co', HIDDEN: 'x', GIVEN: 'mine', COLOURS: 'red' };
    expect((await app.rest('/public/subscribers', { method: 'POST', body: hidden, token: null })).status).toBe(200);
    expect(await personOf(list, 'form@x.co')).toMatchObject({ HIDDEN: '', GIVEN: 'web', COLOURS: 'Red, Green' });
    expect(await personOf(list, 'api@x.co')).toMatchObject({ HIDDEN: '', GIVEN: 'web', COLOURS: 'Red' });
  });

  test('the profile page demands visible required fields and takes choices away', async () => {
    const list = await newList();
    await addField(list, { ...COLOURS, type: 'checkbox' });
    await add(list, { EMAIL: 'p@x.co', COLOURS: 'Red' });
    await addField(list, { required: 1 });
    await addField(list, { tag: 'HIDDEN', visible: 0 });
    const [person] = await queryRows<{ customer_id: bigint; list_id: bigint; id: bigint }>(
      app.ctx.db,
      sql`SELECT customer_id, list_id, id FROM subscriber WHERE email = 'p@x.co'`,
    );
    const { customer_id: customerId = 0n, list_id: listId = 0n, id: subscriberId = 0n } = person ?? {};
    const recipient = recipientOfCampaign({ customerId, listId, subscriberId, campaignId: 0n });
    const link = linkSignerOf(app.ctx.installation).forRecipient(recipient).updateProfile();
    const path = new URL(link).pathname;
    const page = await (await fetch(`${app.baseUrl}${path}`)).text();
    expect(page).toContain('<input type="checkbox" name="COLOURS" value="Red" checked>');
    const [status, text] = await post(path, new URLSearchParams({ NICK: '', COLOURS: '', HIDDEN: 'x' }));
    expect([status, text.includes('Please fill in this field.')]).toEqual([422, true]);
    expect((await post(path, new URLSearchParams({ NICK: 'Pia', COLOURS: '', HIDDEN: 'x' })))[0]).toBe(200);
    expect(await personOf(list, 'p@x.co')).toMatchObject({ NICK: 'Pia', COLOURS: '', HIDDEN: '' });
  });
});

describe('changing and removing', () => {
  test('another type is taken only while every stored value fits, and says whose does not', async () => {
    const list = await newList();
    await addField(list, {});
    await add(list, { EMAIL: 'one@x.co', NICK: '41' });
    await add(list, { EMAIL: 'two@x.co', NICK: 'abc' });
    const change = (body: object) => call('PATCH', `/lists/${list}/fields/NICK`, body);
    const [status, errors] = errorsOf(await change({ type: 'number' }));
    expect([status, Object(errors)['type']]).toEqual([
      422,
      [expect.stringContaining('“abc” of two@x.co must be a number')],
    ]);
    await call('PATCH', `/subscribers/two@x.co?list_uid=${list}`, { NICK: '7' });
    expect((await change({ type: 'number' })).status).toBe(200);
    expect((await change({ type: 'dropdown', options: ['41'] })).status).toBe(422);
    expect((await change({ type: 'dropdown', options: ['41', '7', '9'] })).status).toBe(200);
    expect((await change({ options: ['41', '7'] })).status).toBe(200);
    expect(Object.keys(Object(errorsOf(await change({ options: ['41'] }))[1]))).toEqual(['options']);
    expect((await change({ tag: 'OTHER' })).status).toBe(422);
    const text = await change({ type: 'text' });
    expect([text.status, field(text, 'field')]).toMatchObject([200, { options: [] }]);
    expect(await personOf(list, 'two@x.co')).toMatchObject({ NICK: '7' });
  });

  test('segments find a single choice with a comma in it', async () => {
    const list = await newList();
    const tag = 'CONSENT';
    await addField(list, { type: 'dropdown', label: 'Consent', tag, options: ['Yes, please', 'No, thanks'] });
    await add(list, { EMAIL: 'yes@x.co', [tag]: 'Yes, please' });
    await add(list, { EMAIL: 'no@x.co', [tag]: 'No, thanks' });
    const rule = { field: { tag, options: { hasNone: ['No, thanks'] } } };
    const uid = String(field(await call('POST', `/lists/${list}/segments`, { name: 'S', rule }), 'segment_uid'));
    const { body } = await call('GET', `/segments/${uid}/subscribers`);
    expect(Object(body).data.map(({ email }: { email: string }) => email)).toEqual(['yes@x.co']);
  });

  test('null leaves a setting as it is; it clears the default value and the place', async () => {
    const list = await newList();
    await addField(list, { visible: 0, required: 1, default_value: 'Bo', custom_order: 3 });
    const input = `{ listUid: "${list}", field: "NICK", visible: null, required: null, label: null, type: null, options: null, defaultValue: null, customOrder: null }`;
    const data = await graphql(
      `mutation { changed: updateListField(input: ${input}) { ... on ListField { label type isVisible: visible required defaultValue customOrder } ... on ValidationError { fields { field } } } }`,
      {},
    );
    expect(data['changed']).toEqual({
      ...{ label: 'Nick', type: 'text', isVisible: false, required: true, defaultValue: null, customOrder: null },
    });
  });

  test('segments use options, and neither they nor campaigns lose a field in silence', async () => {
    const list = await newList();
    await addField(list, COLOURS);
    for (const [EMAIL, COLOURS] of [
      ['a@x.co', 'Red, Green'],
      ['b@x.co', 'Dark Blue'],
      ['c@x.co', ''],
    ])
      await add(list, { EMAIL, COLOURS });
    const segment = (options: object) =>
      call('POST', `/lists/${list}/segments`, { name: 'S', rule: { field: { tag: 'COLOURS', options } } });
    const people = async (options: object) => {
      const uid = String(field(await segment(options), 'segment_uid'));
      const { body } = await call('GET', `/segments/${uid}/count`);
      await call('DELETE', `/segments/${uid}`);
      return Object(body).count;
    };
    expect(await people({ hasAny: ['RED', 'dark blue'] })).toBe(2);
    expect(await people({ hasAll: ['Red', 'Green'] })).toBe(1);
    expect(await people({ hasNone: ['Green'] })).toBe(2);
    expect(await people({ isEmpty: true })).toBe(1);
    expect(Object.keys(Object(errorsOf(await segment({ hasAny: ['Pink'] }))[1]))).toEqual(['rule.field.options']);

    const uid = String(field(await segment({ hasAny: ['Red'] }), 'segment_uid'));
    const remove = () => call('DELETE', `/lists/${list}/fields/COLOURS`);
    const refused = await remove();
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('segment “S”')]);
    expect((await call('PATCH', `/lists/${list}/fields/COLOURS`, { type: 'text' })).text).toContain('segment “S”');
    await call('DELETE', `/segments/${uid}`);
    await call('POST', '/campaigns', {
      ...{ list_uid: list, name: 'Spring', subject: 'Hi', from_email: 'n@x.co', from_name: 'N' },
      html: '<p>{{ subscriber.colours }}</p>',
    });
    await app.ctx.db.execute(sql`UPDATE campaign SET status = 'scheduled' WHERE name = 'Spring'`);
    expect((await remove()).text).toContain('campaign “Spring”');
    await app.ctx.db.execute(sql`UPDATE campaign SET status = 'ready' WHERE name = 'Spring'`);
    await call('PATCH', `/lists/${list}`, { timezone_tag: 'COLOURS' });
    expect((await remove()).text).toContain('timezone_tag');
    await call('PATCH', `/lists/${list}`, { timezone_tag: '' });
    expect((await remove()).status).toBe(200);
  });

  test('the values of a removed field go, and never belong to a new field of the tag', async () => {
    const list = await newList();
    await addField(list, {});
    await add(list, { EMAIL: 'gone@x.co', NICK: 'Old', FIRST_NAME: 'Kept' });
    const removed = await graphql(
      `mutation ($list: String!) { deleteListField(listUid: $list, field: "NICK") { ... on DeletedListField { tag } } }`,
      { list },
    );
    expect(removed).toEqual({ deleteListField: { tag: 'NICK' } });
    expect(await personOf(list, 'gone@x.co')).not.toHaveProperty('NICK');
    const again = await addField(list, {});
    expect([again.status, again.text]).toEqual([422, expect.stringContaining('still being removed')]);
    await until(async () => ((await addField(list, {})).status === 201 ? true : undefined));
    expect(await personOf(list, 'gone@x.co')).toMatchObject({ NICK: '', FIRST_NAME: 'Kept' });
  });

  test('GraphQL changes a field as REST does', async () => {
    const list = await newList();
    const added = await graphql(
      `mutation ($input: AddListFieldInput!) { addListField(input: $input) { ... on ListField { uid visible options createdAt } } }`,
      { input: { listUid: list, type: 'radio', label: 'R', tag: 'R', visible: false, options: ['a', 'b'] } },
    );
    const { uid } = Object(added['addListField']);
    expect(added).toMatchObject({
      addListField: { visible: false, options: ['a', 'b'], createdAt: expect.any(String) },
    });
    const changed = await graphql(
      `mutation ($input: UpdateListFieldInput!) { updateListField(input: $input) { ... on ListField { visible label } } }`,
      { input: { listUid: list, field: uid, visible: true } },
    );
    expect(changed).toEqual({ updateListField: { visible: true, label: 'R' } });
  });
});
