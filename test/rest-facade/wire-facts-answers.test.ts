/**
 * What existing clients read (wire facts, answers 1 to 14): every numbered fact over real HTTP, in the classic dialect of
 * those clients; what both dialects promise is asked in both.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { newUid } from '../../src/lib/ids.ts';
import { startRestApp, type RestAnswer, type RestRequest } from '../support/rest-app.ts';

const app = await startRestApp();
const tenant = await app.newTenant({ restDialect: 'classic' });
const UID = expect.stringMatching(/^[0-9a-f]{13}$/);
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);

const contact = {
  ...{ company: 'Acme', address_1: '1 High Street', city: 'Springfield', state: 'CA', zip: '12345', phone: '1' },
  ...{ country_id: 1, email: 'office@acme.example' },
};
const list = { name: 'Friends', from_email: 'news@acme.example', from_name: 'Acme', default_subject: 'News', contact };
const classic = { 'X-Api-Dialect': 'classic' };

const ask = (method: string, path: string, body?: unknown) => app.rest(path, { method, body, token: tenant.token });
/** The administrator's token speaks classic only when asked to. */
const asAdmin = (method: string, path: string, body?: unknown, request: RestRequest = {}) =>
  app.rest(path, { method, body, headers: classic, ...request });

const at = (answer: RestAnswer, name: string) => String(Object(answer.body)[name]);
const message = (text: string) => ({ status: 200, body: { status: 1, message: text } });

let listUid = '';
let doubleOptIn = '';
beforeAll(async () => {
  // Nothing is sent here; a campaign only needs to know that it could be.
  await app.ctx.db.execute(sql`
    INSERT INTO sending_server (customer_id, uid, name, type, settings, status)
    VALUES (${tenant.customerId}, ${newUid()}, 'Server', 'smtp', '{"host": "127.0.0.1", "port": 9}'::jsonb, 'active')`);
  listUid = at(await ask('POST', '/lists', list), 'list_uid');
  doubleOptIn = at(await ask('POST', '/lists', { ...list, subscribe_confirmation: 1 }), 'list_uid');
});

const newPerson = async (more: object = {}) =>
  ask('POST', '/subscribers', { list_uid: listUid, EMAIL: `${newUid()}@person.example`, ...more });
const campaign = () => ({
  ...{ list_uid: listUid, name: 'C', subject: 'S', from_name: 'Acme', from_email: 'news@acme.example' },
  html: '<p>Hello</p>',
});
const newCampaign = () => ask('POST', '/campaigns', campaign());
const newPlan = (more: object = {}) =>
  asAdmin('POST', '/plans', {
    ...{ name: 'Free', currency_code: 'USD', frequency_amount: 1, frequency_unit: 'month', price: '0' },
    ...{
      color: 'green',
      options: { email_max: 1000, all_sending_server_types: 'no', sending_server_types: { smtp: 'yes' } },
      ...more,
    },
  });
const newCustomer = () =>
  asAdmin('POST', '/customers', {
    ...{ email: `${newUid()}@customer.example`, first_name: 'Ann', last_name: 'Smith', timezone: 'Europe/Berlin' },
    ...{ language_id: 1, password: `long ${newUid()}` },
  });

test.each(['/lists', '/subscribers', '/campaigns', '/sending_servers', '/customers', '/subscriptions', '/plans'])(
  '1 %s is a bare array of objects, empty when there is nothing',
  async (path) => {
    await newPerson();
    await newCampaign();
    await newPlan();
    await newCustomer();
    for (const answer of [await asAdmin('GET', path), await asAdmin('GET', `${path}?page=1000000`)]) {
      expect([answer.status, Array.isArray(answer.body)]).toEqual([200, true]);
      for (const item of [Object(answer.body)].flat()) expect(item).toMatchObject({ uid: UID });
    }
    expect((await asAdmin('GET', `${path}?page=1000000`)).body).toEqual([]);
  },
);

test('2 status is the number 1, but the word success where a campaign is set going or stopped', async () => {
  const person = at(await newPerson(), 'subscriber_uid');
  const uid = at(await newCampaign(), 'campaign_uid');
  const ones = [
    await ask('PATCH', `/lists/${listUid}`, { name: 'Friends' }),
    await ask('PATCH', `/subscribers/${person}`, { FIRST_NAME: 'Ann' }),
    await ask('POST', `/subscribers/${person}/add-tag`, { tag: 'a' }),
    await ask('DELETE', `/subscribers/${person}`),
    await ask('PATCH', `/campaigns/${uid}`, { name: 'D' }),
  ];
  for (const { body } of ones) expect(body).toMatchObject({ status: 1, message: expect.any(String) });
  const moved = [
    await ask('POST', `/campaigns/${uid}/run`, { delivery_at: '2030-01-31 08:00:00' }),
    await ask('POST', `/campaigns/${uid}/pause`),
    await ask('POST', `/campaigns/${uid}/resume`),
  ];
  for (const { body } of moved) expect(body).toMatchObject({ status: 'success', campaign: { uid } });
});

test('3 a create is exactly a 200', async () => {
  const made = [
    await ask('POST', '/lists', list),
    await newPerson(),
    await ask('POST', `/lists/${listUid}/add-field`, { type: 'text', label: 'Town', tag: `T${newUid()}` }),
    await newCampaign(),
    await newPlan(),
    await newCustomer(),
  ];
  expect(made.map(({ status }) => status)).toEqual(made.map(() => 200));
});

describe('4 messages that clients match on', () => {
  test('of lists and subscribers', async () => {
    const made = await newPerson();
    const uid = at(made, 'subscriber_uid');
    expect(made).toMatchObject(message('Subscriber was successfully created'));
    expect(await newPerson({ list_uid: doubleOptIn })).toMatchObject(
      message('Confirmation email sent to the subscriber'),
    );
    const patched = await ask('PATCH', `/subscribers/${uid}`, { FIRST_NAME: 'Ann' });
    expect(patched).toMatchObject(message('Subscriber was successfully updated'));
    const steps: [string, string, object | undefined, string][] = [
      ['POST', `/subscribers/${uid}/add-tag`, { tag: 'a,b,' }, 'Tag was added successfully'],
      ['POST', `/subscribers/${uid}/remove-tag`, { tag: 'a' }, 'Tag was removed successfully'],
      ['PATCH', `/lists/${listUid}/subscribers/${uid}/subscribe`, undefined, 'Subscriber was subscribed'],
      ['PATCH', `/lists/${listUid}/subscribers/${uid}/unsubscribe`, undefined, 'Subscriber was unsubscribed'],
      ['DELETE', `/subscribers/${uid}`, undefined, 'Deleted'],
      ['POST', '/lists', list, 'List was successfully created'],
      [
        ...(['POST', `/lists/${listUid}/add-field`] as const),
        { type: 'text', label: 'Town', tag: `T${newUid()}` },
        "List's field was created",
      ],
    ];
    for (const [method, path, body, text] of steps) expect(await ask(method, path, body)).toMatchObject(message(text));
  });

  test('of campaigns', async () => {
    const made = await newCampaign();
    const uid = at(made, 'campaign_uid');
    expect(made).toMatchObject(message('Campaign was successfully created'));
    expect(await ask('PATCH', `/campaigns/${uid}`, { name: 'D' })).toMatchObject(
      message('Campaign was successfully updated'),
    );
    const run = await ask('POST', `/campaigns/${uid}/run`, { delivery_at: '2030-01-31 08:00:00' });
    expect(run.body).toMatchObject({ message: 'The campaign was launched' });
    expect((await ask('POST', `/campaigns/${uid}/pause`)).body).toMatchObject({ message: 'The campaign was paused' });
    expect((await ask('POST', `/campaigns/${uid}/resume`)).body).toMatchObject({ message: 'The campaign was resumed' });
    expect((await ask('POST', `/campaigns/${uid}/pause`)).status).toBe(200);
    expect(await ask('DELETE', `/campaigns/${uid}`)).toMatchObject(message('Deleted'));
  });

  test('of customers, plans and files', async () => {
    const made = await newCustomer();
    const uid = at(made, 'customer_uid');
    expect(made).toMatchObject(message('Customer was successfully created'));
    const plan = await newPlan();
    expect(plan).toMatchObject(message('Plan was successfully created'));
    const planUid = at(plan, 'plan_uid');
    const other = at(await newPlan({ name: 'Other' }), 'plan_uid');
    const steps = [
      ['PATCH', `/customers/${uid}/disable`, 'Customer was disabled'],
      ['PATCH', `/customers/${uid}/enable`, 'Customer was enabled'],
      ['POST', `/customers/${uid}/assign-plan/${planUid}`, 'Customer was assigned to plan'],
      ['POST', `/customers/${uid}/change-plan/${other}`, 'Customer was changed to new plan'],
    ] as const;
    for (const [method, path, text] of steps) expect(await asAdmin(method, path)).toMatchObject(message(text));
    expect((await asAdmin('DELETE', `/customers/${uid}`)).body).toMatchObject({ status: 1, customer_uid: uid });
    const form = new FormData();
    form.append('file', new Blob(['hello']), 'hello.txt');
    const uploaded = await ask('POST', '/file/upload', form);
    expect(uploaded).toMatchObject(message('File uploaded'));
    expect(await (await fetch(at(uploaded, 'url'))).text()).toBe('hello');
  });
});

test('5 subscribers are named by uid and by number, as texts where clients compare them; tags are an array', async () => {
  const made = await newPerson({ tag: 'a,b' });
  const { subscriber_uid: uid, subscriber_id: id } = Object(made.body);
  expect([uid, id]).toEqual([UID, expect.stringMatching(/^\d+$/)]);
  expect((await ask('GET', `/subscribers/${id}`)).body).toMatchObject({ subscriber: { id: Number(id), uid } });
  expect((await ask('POST', `/subscribers/${uid}/add-tag`, { tag: 'c,' })).body).toMatchObject({
    ...{ subscriber_uid: uid, subscriber_id: id, tags: ['a', 'b', 'c'] },
  });
  expect((await ask('POST', `/subscribers/${uid}/remove-tag`, { tag: 'a,c' })).body).toMatchObject({ tags: ['b'] });
});

test('6 lists', async () => {
  const { body } = await ask('GET', '/lists');
  const row = {
    ...{ id: expect.any(Number), uid: UID, name: 'Friends', default_subject: 'News', from_email: 'news@acme.example' },
    ...{ from_name: 'Acme', status: expect.any(String), created_at: TIME, updated_at: TIME },
  };
  expect(Object(body)[0]).toEqual(row);
  const own = at(await ask('POST', '/lists', list), 'list_uid');
  const one = Object((await ask('GET', `/lists/${own}`)).body);
  const { id: _id, ...read } = row;
  expect(one.list).toMatchObject({ ...read, uid: own, remind_message: null });
  expect(one.contact).toMatchObject({ company: 'Acme', country: 'Afghanistan', email: 'office@acme.example' });
  expect(one.contact).not.toHaveProperty('country_id');
  expect(one.statistics).toMatchObject({ subscriber_count: 0, open_uniq_rate: 0, click_rate: 0, subscribe_rate: 0 });
  expect(one.list.fields.map(({ tag, type, visible }: Record<string, unknown>) => [tag, type, visible])).toEqual([
    ['EMAIL', 'string', '1'],
    ['FIRST_NAME', 'text', '1'],
    ['LAST_NAME', 'text', '1'],
  ]);
  expect(one.list.fields.map(({ required }: Record<string, unknown>) => required)).toEqual([true, false, false]);
});

test('7 subscribers', async () => {
  const email = `${newUid()}@person.example`;
  const made = await newPerson({ EMAIL: email, FIRST_NAME: 'Ann' });
  const uid = at(made, 'subscriber_uid');
  const rows = await ask('GET', `/subscribers?list_uid=${listUid}&per_page=1000`);
  const row = [Object(rows.body)].flat().find((one) => one.uid === uid);
  expect(row).toMatchObject({
    id: expect.any(Number),
    uid,
    email,
    status: 'subscribed',
    FIRST_NAME: 'Ann',
    LAST_NAME: '',
  });
  await ask('POST', '/subscribers', { list_uid: doubleOptIn, EMAIL: email });
  const found = Object((await ask('GET', `/subscribers/email/${email}`)).body).subscribers;
  expect(found.map(({ list_uid }: Record<string, unknown>) => list_uid).toSorted()).toEqual(
    [listUid, doubleOptIn].toSorted(),
  );
});

test('8 campaigns', async () => {
  const made = await newCampaign();
  const uid = at(made, 'campaign_uid');
  expect(Object(made.body).campaign.uid).toBe(uid);
  const rows = [Object((await ask('GET', '/campaigns?per_page=1000')).body)].flat();
  expect(rows.find((row) => row.uid === uid)).toMatchObject({
    ...{
      uid,
      name: 'C',
      type: 'regular',
      subject: 'S',
      html: '<p>Hello</p>',
      plain: '',
      from_email: 'news@acme.example',
    },
    ...{ from_name: 'Acme', reply_to: '', status: 'ready', delivery_at: null, created_at: TIME, updated_at: TIME },
  });
  const one = await ask('GET', `/campaigns/${uid}`);
  expect(one.body).toMatchObject({
    campaign: {
      ...{ uid, name: 'C', list: 'Friends', segment: null, default_subject: 'S', from_email: 'news@acme.example' },
      ...{ from_name: 'Acme', remind_message: null, status: 'ready', created_at: TIME, updated_at: TIME },
    },
    statistics: {
      ...{
        subscriber_count: 0,
        delivered_count: 0,
        delivered_rate: 0,
        uniq_open_rate: 0,
        open_count: 0,
        last_open: null,
      },
      ...{ links: [], top_locations: [], top_open_subscribers: [] },
    },
  });
});

test('9 plans: numbers are texts, types an object of yes and no', async () => {
  const uid = at(await newPlan(), 'plan_uid');
  const rows = await asAdmin('GET', '/plans?per_page=1000');
  const row = [Object(rows.body)].flat().find((one) => one.uid === uid);
  expect(row).toMatchObject({
    ...{ uid, name: 'Free', price: '0.00', currency_code: 'USD', frequency_amount: '1', frequency_unit: 'month' },
    ...{ color: 'green', status: 'active', quota: null, custom_order: expect.stringMatching(/^\d+$/) },
  });
  const { sending_server_types: types, ...options } = row.options;
  expect(Object.values(options).filter((value) => typeof value !== 'string')).toEqual([]);
  expect(options).toMatchObject({ email_max: '1000' });
  expect(types).toMatchObject({ smtp: 'yes', sendmail: 'no' });
});

test('10 customers', async () => {
  const uid = at(await newCustomer(), 'customer_uid');
  const shown = {
    customer: {
      ...{ uid, first_name: 'Ann', last_name: 'Smith', image: null, timezone: 'Europe/Berlin', status: 'active' },
      ...{ options: [], current_period_ends_at: null },
    },
  };
  expect((await asAdmin('GET', `/customers/${uid}`)).body).toMatchObject(shown);
  expect((await asAdmin('PATCH', `/customers/${uid}`, { last_name: 'Smith' })).body).toMatchObject(shown);
  for (const verb of ['disable', 'enable'])
    expect((await asAdmin('PATCH', `/customers/${uid}/${verb}`)).body).toMatchObject({ status: 1, customer_uid: uid });
  const rows = await asAdmin('GET', '/customers?per_page=1000');
  expect(rows.body).toEqual(expect.arrayContaining([expect.objectContaining({ uid })]));
  expect((await asAdmin('DELETE', `/customers/${uid}`)).body).toMatchObject({ status: 1, customer_uid: uid });
});

test('11 subscriptions: a number for itself, texts for whom and what', async () => {
  const uid = at(await newCustomer(), 'customer_uid');
  await asAdmin('POST', `/customers/${uid}/assign-plan/${at(await newPlan(), 'plan_uid')}`);
  const rows = [Object((await asAdmin('GET', '/subscriptions?per_page=1000')).body)].flat();
  expect(rows.length).toBeGreaterThan(0);
  for (const row of rows)
    expect(row).toMatchObject({
      ...{ id: expect.any(Number), uid: UID, customer_id: expect.any(String), plan_id: expect.any(String) },
      status: expect.stringMatching(/^(pending|active|cancelled|ended)$/),
    });
  expect(rows.every((row) => 'current_period_ends_at' in row && 'ends_at' in row)).toBe(true);
});

test('12 files by address: one row each, 0 where it failed', async () => {
  const files = [{ url: 'http://127.0.0.1:9/a.png' }, { url: 'nonsense', subdirectory: 'images' }];
  const answer = await ask('POST', '/file/upload', { files: JSON.stringify(files) });
  expect(answer).toMatchObject({
    // None was stored.
    status: 422,
    body: files.map(({ url }) => ({ file: url, status: 0, message: expect.any(String) })),
  });
});

test('13 tokens', async () => {
  const { status, body } = await ask('POST', '/login-token');
  expect({ status, body }).toEqual({
    status: 200,
    body: { token: expect.any(String), url: expect.stringContaining(`/login/token/${String(Object(body).token)}`) },
  });
  const login = await app.rest('/user/login', {
    ...{ method: 'POST', token: null, headers: classic },
    body: { email: tenant.email, password: tenant.password },
  });
  expect(login.body).toMatchObject({ api_token: expect.stringMatching(/^[A-Za-z0-9]{60}$/) });
});

test('14 every failure has a message', async () => {
  const failures = [
    await app.rest('/lists', { token: null }),
    await ask('GET', '/customers'),
    await ask('GET', '/lists/0000000000000'),
    await ask('GET', '/nothing'),
    await ask('POST', '/lists', {}),
    await ask('POST', `/campaigns/${at(await newCampaign(), 'campaign_uid')}/pause`),
    await ask('POST', '/lists', 'rubbish'),
  ];
  expect(failures.map(({ status }) => status)).toEqual([401, 403, 404, 404, 422, 422, 422]);
  for (const { body } of failures) expect(body).toMatchObject({ message: expect.stringMatching(/\w{3}/) });
});
